// Command informers is a real client as judge: client-go's informers, as every controller runs them.
//
//	informers watch KUBECONFIG [SELECTOR]   run informers; answer each line on standard input with a report; end with the input
//	informers list KUBECONFIG [SELECTOR]    list once, and print the same report
//
// SELECTOR is a label selector; without one they read everything.
//
// A report is one line of JSON (type report). Two reports of the same objects are equal but for names,
// resourceVersions and the label and annotation orrery.dev/cluster, whichever server they were read from.
// With KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=true client-go itself panics where WatchList and LIST differ.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// report is what is known of all kinds at one moment.
type report struct {
	// Objects are those in the informers' stores, or listed, by resource.
	Objects map[string][]object `json:"objects"`
	// Versions are the resourceVersions that the informers have reached, by resource.
	Versions map[string]string `json:"versions,omitempty"`
	// Faults are the laws that were broken so far.
	Faults []string `json:"faults,omitempty"`
	// Requests are those that were sent so far.
	Requests []request `json:"requests,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "informers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 || len(args) > 3 || args[0] != "watch" && args[0] != "list" {
		return errors.New("usage: informers watch|list KUBECONFIG [SELECTOR]")
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[1])
	if err != nil {
		return err
	}
	config.QPS = -1
	sent := &requests{}
	config.Wrap(sent.wrap)
	clients, err := connect(config)
	if err != nil {
		return err
	}
	if len(args) == 3 {
		clients.selector = args[2]
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if args[0] == "list" {
		return clients.list(ctx)
	}
	return clients.watch(ctx, sent)
}

// clients read the built-in kinds as types of their own and the custom one as a map.
type clients struct {
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	// selector is the label selector of all that they read.
	selector string
}

func connect(config *rest.Config) (*clients, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dynamic, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &clients{typed: typed, dynamic: dynamic}, nil
}

// watch runs the informers, says when they have synced, and reports at each line of input.
func (c *clients) watch(ctx context.Context, sent *requests) error {
	laws := newLaws()
	running, err := c.start(ctx, laws)
	if err != nil {
		return err
	}
	if err := print(report{Objects: running.objects()}); err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		report := report{
			Objects:  running.objects(),
			Versions: running.versions(),
			Faults:   laws.broken(),
			Requests: sent.all(),
		}
		if err := print(report); err != nil {
			return err
		}
	}
	return input.Err()
}

func print(report report) error {
	return json.NewEncoder(os.Stdout).Encode(report)
}
