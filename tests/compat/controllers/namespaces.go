package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaces updates a Namespace, which is one object in all clusters: when the answer is there, the member has it too. The
// body is protobuf, as controller-runtime sends kinds that are built in.
func namespaces(ctx context.Context, judged *fleet) error {
	member, err := connect(judged.member, judged.namespace)
	if err != nil {
		return fmt.Errorf("the member: %w", err)
	}
	key := client.ObjectKey{Name: judged.namespace}
	shown := &corev1.Namespace{}
	if err := judged.client.Get(ctx, key, shown); err != nil {
		return err
	}
	stale := shown.DeepCopy()
	shown.Labels["seen"] = "yes"
	if err := judged.client.Update(ctx, shown); err != nil {
		return err
	}
	held := &corev1.Namespace{}
	if err := member.client.Get(ctx, key, held); err != nil {
		return err
	}
	if held.Labels["seen"] != "yes" {
		return fmt.Errorf("the member has the labels %v", held.Labels)
	}
	if err := judged.client.Update(ctx, stale); !apierrors.IsConflict(err) {
		return fmt.Errorf("an update of a stale state is answered %v, not with a conflict", err)
	}
	return nil
}
