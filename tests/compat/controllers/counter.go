package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// writers write side by side, half of them through the host and half directly at the member.
	writers = 32
	// increments that each writer makes.
	increments = 5
)

// counter lets many writers increment one number by optimistic lock. None of them is lost, each is seen once by a watch
// through the host, and the resourceVersions that the host shows only rise, also from one client to another.
func counter(ctx context.Context, judged *fleet) error {
	member, err := connect(judged.member, judged.namespace)
	if err != nil {
		return fmt.Errorf("the member: %w", err)
	}
	created := configMap(judged, "counter", "0")
	if err := judged.client.Create(ctx, created); err != nil {
		return err
	}
	seen := make(chan error, 1)
	go func() { seen <- follow(ctx, judged, created) }()
	var running sync.WaitGroup
	failed := make(chan error, writers)
	shown := &versions{last: created.ResourceVersion}
	for number := range writers {
		running.Go(func() {
			if number%2 == 0 {
				failed <- count(ctx, judged, shown)
			} else {
				failed <- count(ctx, member, nil)
			}
		})
	}
	running.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	if err := counted(ctx, judged, member); err != nil {
		return err
	}
	return <-seen
}

// count makes one writer's increments.
func count(ctx context.Context, through *fleet, shown *versions) error {
	for done := 0; done < increments; {
		object := configMap(through, "counter", "")
		get := func() error { return through.client.Get(ctx, client.ObjectKeyFromObject(object), object) }
		if err := shown.answer(get, object); err != nil {
			return err
		}
		value, err := strconv.Atoi(object.Data["value"])
		if err != nil {
			return err
		}
		object.Data["value"] = strconv.Itoa(value + 1)
		err = shown.answer(func() error { return through.client.Update(ctx, object) }, object)
		switch {
		case err == nil:
			done++
		case apierrors.IsConflict(err):
			// Others were quicker. Writers that come in step would meet again and again.
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		default:
			return err
		}
	}
	return nil
}

// versions are the resourceVersions that the host has shown to any of its clients.
type versions struct {
	mutex sync.Mutex
	last  string
}

// answer asks, and checks that the version of what is answered is not below one that was shown before it was asked.
func (v *versions) answer(ask func() error, object client.Object) error {
	if v == nil {
		return ask()
	}
	v.mutex.Lock()
	before := v.last
	v.mutex.Unlock()
	if err := ask(); err != nil {
		return err
	}
	now := object.GetResourceVersion()
	order, err := resourceversion.CompareResourceVersion(now, before)
	if err != nil {
		return err
	}
	if order < 0 {
		return fmt.Errorf("the host showed resourceVersion %s after %s", now, before)
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if order, err := resourceversion.CompareResourceVersion(now, v.last); err == nil && order > 0 {
		v.last = now
	}
	return nil
}

// counted compares the number with that of the increments, through the host and directly.
func counted(ctx context.Context, fleets ...*fleet) error {
	for _, one := range fleets {
		object := configMap(one, "counter", "")
		if err := one.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if want := strconv.Itoa(writers * increments); object.Data["value"] != want {
			return fmt.Errorf("%s increments are left of %s", object.Data["value"], want)
		}
	}
	return nil
}

// follow watches the number through the host until all increments are seen: each once and in order.
func follow(ctx context.Context, judged *fleet, created *corev1.ConfigMap) error {
	watching, err := client.NewWithWatch(judged.config, client.Options{})
	if err != nil {
		return err
	}
	events, err := watching.Watch(ctx, &corev1.ConfigMapList{},
		client.InNamespace(judged.namespace),
		client.MatchingFields{"metadata.name": created.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: created.ResourceVersion}},
	)
	if err != nil {
		return err
	}
	defer events.Stop()
	version, value := created.ResourceVersion, 0
	for event := range events.ResultChan() {
		object, is := event.Object.(*corev1.ConfigMap)
		if !is || event.Type != watch.Modified {
			return fmt.Errorf("the watch sent %s %v", event.Type, event.Object)
		}
		if err := rises(version, object.ResourceVersion); err != nil {
			return err
		}
		if object.Data["value"] != strconv.Itoa(value+1) {
			return fmt.Errorf("%s was seen after %d", object.Data["value"], value)
		}
		version, value = object.ResourceVersion, value+1
		if value == writers*increments {
			return nil
		}
	}
	return errors.New("the watch ended before all increments were seen")
}
