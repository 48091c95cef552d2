package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// comets are the kind of a CustomResourceDefinition that the test makes.
var comets = schema.GroupVersionResource{Group: "sky.example.com", Version: "v1", Resource: "comets"}

// stores are running informers by resource.
type stores map[string]cache.SharedIndexInformer

// start runs an informer for each resource and waits until all have synced.
func (c *clients) start(ctx context.Context, laws *laws) (stores, error) {
	selected := func(options *metav1.ListOptions) { options.LabelSelector = c.selector }
	typed := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithTweakListOptions(selected))
	custom := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, metav1.NamespaceAll, selected)
	running := stores{
		"pods":       typed.Core().V1().Pods().Informer(),
		"nodes":      typed.Core().V1().Nodes().Informer(),
		"configmaps": typed.Core().V1().ConfigMaps().Informer(),
		"comets":     custom.ForResource(comets).Informer(),
	}
	for resource, informer := range running {
		if _, err := informer.AddEventHandler(laws.of(resource)); err != nil {
			return nil, err
		}
	}
	typed.Start(ctx.Done())
	custom.Start(ctx.Done())
	for resource, informer := range running {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, fmt.Errorf("the informer of %s did not sync", resource)
		}
	}
	return running, nil
}

func (s stores) objects() map[string][]object {
	found := map[string][]object{}
	for resource, informer := range s {
		found[resource] = describe(informer.GetStore().List())
	}
	return found
}

func (s stores) versions() map[string]string {
	found := map[string]string{}
	for resource, informer := range s {
		found[resource] = informer.LastSyncResourceVersion()
	}
	return found
}

// list lists every resource once and prints what there is.
func (c *clients) list(ctx context.Context) error {
	found := map[string][]object{}
	options := metav1.ListOptions{LabelSelector: c.selector}
	pods, err := c.typed.CoreV1().Pods("").List(ctx, options)
	if err != nil {
		return err
	}
	found["pods"] = describe(pointers(pods.Items))
	nodes, err := c.typed.CoreV1().Nodes().List(ctx, options)
	if err != nil {
		return err
	}
	found["nodes"] = describe(pointers(nodes.Items))
	configMaps, err := c.typed.CoreV1().ConfigMaps("").List(ctx, options)
	if err != nil {
		return err
	}
	found["configmaps"] = describe(pointers(configMaps.Items))
	custom, err := c.dynamic.Resource(comets).List(ctx, options)
	if err != nil {
		return err
	}
	found["comets"] = describe(pointers(custom.Items))
	return print(report{Objects: found})
}

func pointers[T any](items []T) []any {
	all := make([]any, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
