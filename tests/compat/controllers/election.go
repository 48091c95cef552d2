package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// handovers is how often the lead passes on.
const handovers = 2

// election lets two managers contend for one Lease: there is one leader, it keeps renewing, and when it steps down the
// other one leads.
func election(ctx context.Context, judged *fleet) error {
	var leading atomic.Int32
	current, err := contend(ctx, judged, &leading)
	if err != nil {
		return err
	}
	if err := current.leads(ctx); err != nil {
		return fmt.Errorf("nobody leads: %w", err)
	}
	for range handovers {
		next, err := contend(ctx, judged, &leading)
		if err != nil {
			return err
		}
		// Longer than a lease lasts: the leader has renewed it, and the other one has tried.
		select {
		case <-next.elected:
			return errors.New("two lead")
		case err := <-current.ended:
			return fmt.Errorf("the leader lost its lease: %v", err)
		case <-time.After(6 * time.Second):
		}
		current.stop()
		if err := <-current.ended; err != nil {
			return fmt.Errorf("the leader ends: %w", err)
		}
		if err := next.leads(ctx); err != nil {
			return fmt.Errorf("nobody leads after the leader stepped down: %w", err)
		}
		if now := leading.Load(); now != 1 {
			return fmt.Errorf("%d lead", now)
		}
		current = next
	}
	current.stop()
	return <-current.ended
}

// contender is a running manager that would lead.
type contender struct {
	elected <-chan struct{}
	stop    context.CancelFunc
	ended   <-chan error
}

func (c *contender) leads(ctx context.Context) error {
	select {
	case <-c.elected:
		return nil
	case err := <-c.ended:
		return fmt.Errorf("it ended: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func contend(ctx context.Context, judged *fleet, leading *atomic.Int32) (*contender, error) {
	lease, renew, retry := 4*time.Second, 3*time.Second, 500*time.Millisecond
	made, err := ctrl.NewManager(judged.config, ctrl.Options{
		LeaderElection:                true,
		LeaderElectionID:              "lead",
		LeaderElectionNamespace:       judged.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		Metrics:                       server.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	err = made.Add(manager.RunnableFunc(func(ctx context.Context) error {
		leading.Add(1)
		defer leading.Add(-1)
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	return &contender{elected: made.Elected(), stop: stop, ended: ended}, nil
}
