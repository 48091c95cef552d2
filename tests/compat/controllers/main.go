// Command controllers is a real client as judge: what controllers made with controller-runtime do all day.
//
//	controllers locks|apply|owners|election|caches KUBECONFIG NAMESPACE
//	controllers namespaces|counter KUBECONFIG NAMESPACE MEMBER-KUBECONFIG
//
// Each says on standard error what was not as it should be and exits with 1, or exits with 0.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// limit is the longest time for one trial.
const limit = 3 * time.Minute

// soon is the longest time until something that needs nobody's help has happened.
const soon = 30 * time.Second

// fleet is the API server that is judged, and the namespace to use.
type fleet struct {
	config    *rest.Config
	client    client.Client
	namespace string
	// member is the kubeconfig of the member that the namespace is pinned to.
	member string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	trials := map[string]func(context.Context, *fleet) error{
		"locks":      locks,
		"apply":      apply,
		"namespaces": namespaces,
		"owners":     owners,
		"election":   election,
		"caches":     caches,
		"counter":    counter,
	}
	if len(args) < 3 || trials[args[0]] == nil {
		return errors.New("usage: controllers TRIAL KUBECONFIG NAMESPACE [MEMBER-KUBECONFIG]")
	}
	ctrl.SetLogger(logr.Discard())
	judged, err := connect(args[1], args[2])
	if err != nil {
		return err
	}
	if len(args) > 3 {
		judged.member = args[3]
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return trials[args[0]](ctx, judged)
}

func connect(kubeconfig, namespace string) (*fleet, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	return &fleet{config: config, client: direct, namespace: namespace}, nil
}

// rises is an error unless the resourceVersion after is above before.
func rises(before, after string) error {
	order, err := resourceversion.CompareResourceVersion(after, before)
	if err != nil {
		return err
	}
	if order <= 0 {
		return fmt.Errorf("resourceVersion %s came after %s", after, before)
	}
	return nil
}

// eventually asks check until it is content; its last complaint otherwise.
func eventually(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, soon, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// gone is an error while the object is there.
func gone(ctx context.Context, from client.Reader, object client.Object) error {
	err := from.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil {
		return fmt.Errorf("%s is still there", object.GetName())
	}
	return client.IgnoreNotFound(err)
}

// kindOf is for messages.
func kindOf(object client.Object) string {
	accessor, err := meta.TypeAccessor(object)
	if err != nil {
		return "object"
	}
	return accessor.GetKind()
}
