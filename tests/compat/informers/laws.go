package main

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// laws are what any client of the Kubernetes API may rely on, checked on the events that informers hand out:
// every resourceVersion is one that CompareResourceVersion accepts, those of one object only rise, and outside of the
// initial list those of one resource rise from event to event.
type laws struct {
	mutex  sync.Mutex
	faults []string
}

// faultsMax bounds what is kept: one broken law tends to be broken often.
const faultsMax = 50

func newLaws() *laws {
	return &laws{}
}

func (l *laws) broken() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.faults)
}

func (l *laws) fault(format string, args ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.faults) < faultsMax {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// of makes the handler for one resource. client-go calls it from one goroutine.
func (l *laws) of(resource string) cache.ResourceEventHandler {
	return &handler{laws: l, resource: resource, versions: map[string]string{}}
}

type handler struct {
	laws     *laws
	resource string
	// versions are the last ones by uid, also of deleted objects: none comes back.
	versions map[string]string
	// last is the version of the last event after the initial list.
	last string
}

func (h *handler) OnAdd(added any, isInInitialList bool) {
	if isInInitialList {
		h.see(added, "listed")
		return
	}
	h.see(added, "added")
	h.follow(added, "added")
}

func (h *handler) OnUpdate(before, after any) {
	if version(before) == version(after) && uid(before) == uid(after) {
		h.laws.fault("%s %s: updated without another resourceVersion %s", h.resource, uid(after), version(after))
		return
	}
	h.see(after, "updated")
	h.follow(after, "updated")
}

func (h *handler) OnDelete(deleted any) {
	if unknown, missed := deleted.(cache.DeletedFinalStateUnknown); missed {
		h.laws.fault("%s %s: its deletion was missed", h.resource, unknown.Key)
		return
	}
	h.see(deleted, "deleted")
	h.follow(deleted, "deleted")
}

// see checks that the versions of one object rise.
func (h *handler) see(object any, how string) {
	id, now := uid(object), version(object)
	before, known := h.versions[id]
	if !known {
		before = "1"
	}
	order, err := resourceversion.CompareResourceVersion(now, before)
	if err != nil {
		h.laws.fault("%s %s %s: %v", h.resource, id, how, err)
	} else if order <= 0 {
		h.laws.fault("%s %s %s: resourceVersion %s after %s", h.resource, id, how, now, before)
	}
	h.versions[id] = now
}

// follow checks that the versions of one stream rise.
func (h *handler) follow(object any, how string) {
	now := version(object)
	if h.last != "" {
		order, err := resourceversion.CompareResourceVersion(now, h.last)
		if err == nil && order <= 0 {
			h.laws.fault("%s: event %s %s has resourceVersion %s after %s", h.resource, uid(object), how, now, h.last)
		}
	}
	h.last = now
}

func uid(object any) string {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return string(metadata.GetUID())
}

func version(object any) string {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return metadata.GetResourceVersion()
}
