package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// locks writes with optimistic locks: what was read before another's write is refused as a conflict, by update, by merge
// patch, by strategic merge patch and by delete, and changes nothing.
func locks(ctx context.Context, judged *fleet) error {
	created := configMap(judged, "locked", "first")
	if err := judged.client.Create(ctx, created); err != nil {
		return err
	}
	stale, fresh := created.DeepCopy(), created.DeepCopy()
	if err := lockedPatch(ctx, judged, fresh, "second"); err != nil {
		return fmt.Errorf("a patch of the latest state is refused: %w", err)
	}
	if err := rises(created.ResourceVersion, fresh.ResourceVersion); err != nil {
		return err
	}
	if err := refusals(ctx, judged, stale); err != nil {
		return err
	}
	if err := holds(ctx, judged, fresh); err != nil {
		return err
	}
	if err := unchanged(ctx, judged, fresh); err != nil {
		return err
	}
	return lastWrites(ctx, judged, fresh)
}

func configMap(judged *fleet, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: judged.namespace, Name: name},
		Data:       map[string]string{"value": value},
	}
}

// lockedPatch sets the value by a merge patch that carries the resourceVersion of before.
func lockedPatch(ctx context.Context, judged *fleet, object *corev1.ConfigMap, value string) error {
	lock := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
	object.Data["value"] = value
	return judged.client.Patch(ctx, object, lock)
}

// refusals tries each way to write what is no longer so.
func refusals(ctx context.Context, judged *fleet, stale *corev1.ConfigMap) error {
	strategic := stale.DeepCopy()
	lock := client.StrategicMergeFrom(stale.DeepCopy(), client.MergeFromWithOptimisticLock{})
	strategic.Data["value"] = "stale"
	updated := stale.DeepCopy()
	updated.Data["value"] = "stale"
	version := stale.ResourceVersion
	ways := map[string]error{
		"merge patch":           lockedPatch(ctx, judged, stale.DeepCopy(), "stale"),
		"strategic merge patch": judged.client.Patch(ctx, strategic, lock),
		"update":                judged.client.Update(ctx, updated),
		"delete": judged.client.Delete(ctx, stale.DeepCopy(),
			client.Preconditions{ResourceVersion: &version}),
	}
	for way, err := range ways {
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("a %s of a stale state is answered %v, not with a conflict", way, err)
		}
	}
	return nil
}

// holds checks that the API server holds what it answered last.
func holds(ctx context.Context, judged *fleet, last *corev1.ConfigMap) error {
	now := &corev1.ConfigMap{}
	if err := judged.client.Get(ctx, client.ObjectKeyFromObject(last), now); err != nil {
		return err
	}
	if now.Data["value"] != last.Data["value"] || now.ResourceVersion != last.ResourceVersion {
		return fmt.Errorf("it holds %v at %s, and answered %v at %s",
			now.Data, now.ResourceVersion, last.Data, last.ResourceVersion)
	}
	return nil
}

// unchanged checks that a write which changes nothing keeps the resourceVersion.
func unchanged(ctx context.Context, judged *fleet, last *corev1.ConfigMap) error {
	same := last.DeepCopy()
	if err := judged.client.Update(ctx, same); err != nil {
		return err
	}
	if same.ResourceVersion != last.ResourceVersion {
		return fmt.Errorf("an update without a change went from %s to %s", last.ResourceVersion, same.ResourceVersion)
	}
	return nil
}

// lastWrites updates and deletes with the latest version, each of which must pass.
func lastWrites(ctx context.Context, judged *fleet, fresh *corev1.ConfigMap) error {
	before := fresh.ResourceVersion
	fresh.Data["value"] = "third"
	if err := judged.client.Update(ctx, fresh); err != nil {
		return fmt.Errorf("an update of the latest state is refused: %w", err)
	}
	if err := rises(before, fresh.ResourceVersion); err != nil {
		return err
	}
	preconditions := client.Preconditions{UID: &fresh.UID, ResourceVersion: &fresh.ResourceVersion}
	if err := judged.client.Delete(ctx, fresh, preconditions); err != nil {
		return fmt.Errorf("a deletion of the latest state is refused: %w", err)
	}
	return gone(ctx, judged.client, fresh)
}
