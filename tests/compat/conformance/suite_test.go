// Package conformance is the upstream e2e suite (k8s.io/kubernetes/test/e2e) as a program. It holds the specs of the
// groups that have API-only ones, and one flag more than upstream's: -spec-limit.
package conformance

import (
	"context"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/auth"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/dra"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/instrumentation"
	_ "k8s.io/kubernetes/test/e2e/kubectl"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
	_ "k8s.io/kubernetes/test/e2e/storage"
)

// specLimit is how long one spec may take. Some wait ten minutes for containers that fake nodes do not run.
var specLimit = flag.Duration("spec-limit", 5*time.Minute, "longest time that one spec may take")

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	// Before the flags are acted on: that builds the tree of specs.
	ginkgo.AddTreeConstructionNodeArgsTransformer(limited)
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

func TestE2E(t *testing.T) {
	e2e.RunE2ETests(t)
}

// limited gives a spec its limit, if its body can be told to end and it has no limit of its own.
func limited(node types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
	if node.Is(types.NodeTypeIt) && takesContext(args) && !hasLimit(args) {
		args = append(args, ginkgo.SpecTimeout(*specLimit))
	}
	return text, args, nil
}

func takesContext(args []any) bool {
	wanted := reflect.TypeFor[context.Context]()
	for _, arg := range args {
		kind := reflect.TypeOf(arg)
		if kind != nil && kind.Kind() == reflect.Func && kind.NumIn() > 0 && kind.In(0).Implements(wanted) {
			return true
		}
	}
	return false
}

func hasLimit(args []any) bool {
	for _, arg := range args {
		switch arg.(type) {
		case ginkgo.SpecTimeout, ginkgo.NodeTimeout:
			return true
		}
	}
	return false
}
