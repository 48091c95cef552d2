package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// stamp is the label and annotation by which Orrery says whose an object is.
const stamp = "orrery.dev/cluster"

// object is one object in a report.
type object struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"resourceVersion"`
	// Content is a hash of all but name, resourceVersion and stamp.
	Content string `json:"content"`
	// Cluster is the stamp, if there is one.
	Cluster string `json:"cluster,omitempty"`
}

// describe describes objects that client-go has decoded, sorted by uid.
func describe(objects []any) []object {
	described := make([]object, 0, len(objects))
	for _, one := range objects {
		described = append(described, describeOne(one))
	}
	slices.SortFunc(described, func(a, b object) int { return strings.Compare(a.UID, b.UID) })
	return described
}

func describeOne(decoded any) object {
	copied := decoded.(runtime.Object).DeepCopyObject()
	metadata, err := meta.Accessor(copied)
	if err != nil {
		panic(fmt.Sprintf("%T has no metadata: %v", decoded, err))
	}
	described := object{
		UID:       string(metadata.GetUID()),
		Namespace: metadata.GetNamespace(),
		Name:      metadata.GetName(),
		Version:   metadata.GetResourceVersion(),
		Cluster:   metadata.GetLabels()[stamp],
	}
	metadata.SetName("")
	metadata.SetResourceVersion("")
	metadata.SetLabels(without(metadata.GetLabels()))
	metadata.SetAnnotations(without(metadata.GetAnnotations()))
	text, err := json.Marshal(copied)
	if err != nil {
		panic(fmt.Sprintf("%s/%s cannot be written: %v", described.Namespace, described.Name, err))
	}
	sum := sha256.Sum256(text)
	described.Content = hex.EncodeToString(sum[:8])
	return described
}

// without is a map without the stamp, and no map where nothing else is in it.
func without(from map[string]string) map[string]string {
	rest := maps.Clone(from)
	delete(rest, stamp)
	if len(rest) == 0 {
		return nil
	}
	return rest
}
