package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// owners deletes an owner in each way that there is: in the background and in the foreground its dependents go with
// it, as an orphan they stay without it.
func owners(ctx context.Context, judged *fleet) error {
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan,
	} {
		if err := ownerDeleted(ctx, judged, policy); err != nil {
			return fmt.Errorf("deleted with %s: %w", policy, err)
		}
	}
	return nil
}

func ownerDeleted(ctx context.Context, judged *fleet, policy metav1.DeletionPropagation) error {
	owner := configMap(judged, "owner-"+lower(policy), "")
	if err := judged.client.Create(ctx, owner); err != nil {
		return err
	}
	dependents, err := owned(ctx, judged, owner)
	if err != nil {
		return err
	}
	if err := judged.client.Delete(ctx, owner, client.PropagationPolicy(policy)); err != nil {
		return err
	}
	err = eventually(ctx, "the owner goes", func() error { return gone(ctx, judged.client, owner.DeepCopy()) })
	if err != nil {
		return err
	}
	for _, dependent := range dependents {
		end := func() error { return gone(ctx, judged.client, dependent) }
		if policy == metav1.DeletePropagationOrphan {
			end = func() error { return orphaned(ctx, judged, dependent) }
		}
		if err := eventually(ctx, kindOf(dependent)+" "+dependent.GetName(), end); err != nil {
			return err
		}
	}
	return nil
}

// owned makes three dependents of owner: the second by create-or-update, as controllers do.
func owned(ctx context.Context, judged *fleet, owner *corev1.ConfigMap) ([]client.Object, error) {
	refer := func(object client.Object) error {
		return controllerutil.SetControllerReference(owner, object, judged.client.Scheme())
	}
	first := configMap(judged, owner.Name+"-first", "")
	if err := refer(first); err != nil {
		return nil, err
	}
	if err := judged.client.Create(ctx, first); err != nil {
		return nil, err
	}
	second := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name + "-second"}}
	result, err := controllerutil.CreateOrUpdate(ctx, judged.client, second, func() error { return refer(second) })
	if err != nil || result != controllerutil.OperationResultCreated {
		return nil, fmt.Errorf("create or update: %s, %w", result, err)
	}
	result, err = controllerutil.CreateOrUpdate(ctx, judged.client, second, func() error { return refer(second) })
	if err != nil || result != controllerutil.OperationResultNone {
		return nil, fmt.Errorf("create or update again: %s, %w", result, err)
	}
	return []client.Object{first, second}, nil
}

// orphaned is an error while the object has an owner, or if it is not there.
func orphaned(ctx context.Context, judged *fleet, object client.Object) error {
	if err := judged.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if references := object.GetOwnerReferences(); len(references) > 0 {
		return fmt.Errorf("it is owned by %v", references)
	}
	return nil
}

func lower(policy metav1.DeletionPropagation) string {
	return map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationBackground: "background",
		metav1.DeletePropagationForeground: "foreground",
		metav1.DeletePropagationOrphan:     "orphan",
	}[policy]
}
