package main

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// objects that the controller looks after, and how often each is changed.
	objects = 40
	changes = 5
)

// caches runs a controller with a cache, which copies a value of each ConfigMap into an annotation, while another client
// changes the values. The cache comes to every version that a write was answered with, and never goes back; in the end all
// is as the controller wants it.
func caches(ctx context.Context, judged *fleet) error {
	made, err := ctrl.NewManager(judged.config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{judged.namespace: {}}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	copies := &copier{client: made.GetClient()}
	if err := ctrl.NewControllerManagedBy(made).For(&corev1.ConfigMap{}).Complete(copies); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	if !made.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache does not sync")
	}
	if err := change(ctx, judged, made.GetClient()); err != nil {
		return err
	}
	err = eventually(ctx, "all is copied", func() error { return copied(ctx, judged, made.GetClient()) })
	if err != nil {
		return err
	}
	stop()
	return <-ended
}

// copier is the controller: the annotation copy becomes the value.
type copier struct {
	client client.Client
}

// Reconcile implements reconcile.Reconciler.
func (c *copier) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	value, has := object.Data["value"]
	if !has || object.Annotations["copy"] == value {
		return reconcile.Result{}, nil
	}
	lock := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations["copy"] = value
	return reconcile.Result{}, c.client.Patch(ctx, object, lock)
}

// change writes each object several times, and after each write waits until the cache has come to it.
func change(ctx context.Context, judged *fleet, cached client.Reader) error {
	for number := range objects {
		object := configMap(judged, "copied-"+strconv.Itoa(number), "0")
		if err := judged.client.Create(ctx, object); err != nil {
			return err
		}
		for turn := range changes {
			if err := reaches(ctx, cached, object); err != nil {
				return err
			}
			before := client.MergeFrom(object.DeepCopy())
			object.Data["value"] = strconv.Itoa(turn + 1)
			if err := judged.client.Patch(ctx, object, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// reaches waits until the cache holds what a write was answered with, or a later state.
func reaches(ctx context.Context, cached client.Reader, written *corev1.ConfigMap) error {
	last := "1"
	return eventually(ctx, "the cache has "+written.Name, func() error {
		now := &corev1.ConfigMap{}
		if err := cached.Get(ctx, client.ObjectKeyFromObject(written), now); err != nil {
			return err
		}
		if order, err := resourceversion.CompareResourceVersion(now.ResourceVersion, last); err != nil || order < 0 {
			return fmt.Errorf("the cache went from %s to %s, %w", last, now.ResourceVersion, err)
		}
		last = now.ResourceVersion
		order, err := resourceversion.CompareResourceVersion(now.ResourceVersion, written.ResourceVersion)
		if err == nil && order < 0 {
			err = fmt.Errorf("it is at %s, written was %s", now.ResourceVersion, written.ResourceVersion)
		}
		return err
	})
}

// copied checks that every object is as the controller wants it, in the cache and in fact.
func copied(ctx context.Context, judged *fleet, cached client.Reader) error {
	for _, from := range []client.Reader{cached, judged.client} {
		listed := &corev1.ConfigMapList{}
		if err := from.List(ctx, listed, client.InNamespace(judged.namespace)); err != nil {
			return err
		}
		done := 0
		for _, object := range listed.Items {
			if object.Annotations["copy"] == strconv.Itoa(changes) {
				done++
			}
		}
		if done != objects {
			return fmt.Errorf("%d of %d are copied", done, objects)
		}
	}
	return nil
}
