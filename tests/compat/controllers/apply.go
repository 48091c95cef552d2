package main

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply writes by server-side apply: two owners share an object, one takes a field from the other only by force, and
// what its last owner no longer applies is gone.
func apply(ctx context.Context, judged *fleet) error {
	one, two := client.FieldOwner("one"), client.FieldOwner("two")
	if err := applied(ctx, judged, map[string]string{"a": "1", "b": "1"}, one); err != nil {
		return fmt.Errorf("create by apply: %w", err)
	}
	if err := applied(ctx, judged, map[string]string{"c": "2"}, two); err != nil {
		return fmt.Errorf("a second owner: %w", err)
	}
	if err := applied(ctx, judged, map[string]string{"a": "2", "c": "2"}, two); !apierrors.IsConflict(err) {
		return fmt.Errorf("what another owns is taken without force: %v", err)
	}
	if err := has(ctx, judged, map[string]string{"a": "1", "b": "1", "c": "2"}); err != nil {
		return err
	}
	if err := applied(ctx, judged, map[string]string{"a": "2", "c": "2"}, two, client.ForceOwnership); err != nil {
		return fmt.Errorf("by force: %w", err)
	}
	if err := applied(ctx, judged, map[string]string{}, one); err != nil {
		return fmt.Errorf("nothing any more: %w", err)
	}
	if err := has(ctx, judged, map[string]string{"a": "2", "c": "2"}); err != nil {
		return err
	}
	return managed(ctx, judged)
}

func applied(ctx context.Context, judged *fleet, data map[string]string, options ...client.ApplyOption) error {
	return judged.client.Apply(ctx, applyv1.ConfigMap("applied", judged.namespace).WithData(data), options...)
}

func has(ctx context.Context, judged *fleet, data map[string]string) error {
	now := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: judged.namespace, Name: "applied"}
	if err := judged.client.Get(ctx, key, now); err != nil {
		return err
	}
	if !maps.Equal(now.Data, data) {
		return fmt.Errorf("it holds %v, not %v", now.Data, data)
	}
	return nil
}

// managed checks that only the second owner is left, and that nobody owns what the host adds.
func managed(ctx context.Context, judged *fleet) error {
	now := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: judged.namespace, Name: "applied"}
	if err := judged.client.Get(ctx, key, now); err != nil {
		return err
	}
	for _, entry := range now.ManagedFields {
		if entry.Manager == "two" && string(entry.FieldsV1.Raw) != `{"f:data":{"f:a":{},"f:c":{}}}` {
			return fmt.Errorf("two owns %s", entry.FieldsV1.Raw)
		}
		if entry.Manager != "two" && entry.Manager != "one" {
			return fmt.Errorf("%s owns something", entry.Manager)
		}
	}
	return nil
}
