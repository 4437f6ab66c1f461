package hunt

import (
	"context"
	_ "embed" // the scenario
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/minikcmtest"
)

// ownScenario is the scenario in which controllers are hunted if there is no other.
//
//go:embed self.yaml
var ownScenario []byte

// ownScheduler is the name of the scheduler in a selection.
const ownScheduler = "kube-scheduler"

// inCluster are the controllers that the cluster keeps: they need its keys, or the heartbeats that it does not write.
var inCluster = []string{
	"serviceaccount-token-controller", "root-ca-certificate-publisher-controller", "kube-apiserver-serving-clustertrustbundle-publisher-controller",
	"certificatesigningrequest-signing-controller", "node-lifecycle-controller",
}

// HuntControllers hunts for bugs of minikcm's own controllers. In each run those that are hunted are clients of the cluster from
// outside, as an operator is, and the cluster runs the others. The selection is as for the flag --controllers of "minikcm up", with
// kube-scheduler as one more name; empty: all controllers, without the scheduler. The runs are on virtual time, so they are exact: Command,
// Speed and Repeats have no effect. An empty Scenario is one that minikcm has. An error says why there is no hunt.
func HuntControllers(ctx context.Context, selection string, b Binary) (*Report, error) {
	names, err := huntable(selection)
	if err != nil {
		return nil, err
	}
	var workload Workload
	if b.Scenario == "" {
		workload, err = newScenario(&scenarioFile{"self.yaml", ownScenario, b.Set})
	} else {
		workload, err = readScenario(b.Scenario, b.Set)
	}
	if err != nil {
		return nil, err
	}
	operator := Operator{User: DefaultUser, Start: func(t testing.TB, cluster *minikcmtest.Cluster) func() error { return startParts(t, cluster, names) }}
	h := &hunter{settings: newSettings([]Option{WithCluster(without(names))}), operator: operator, workload: workload, noise: map[string]bool{}, usual: conduct{}, exact: true}
	h.attempt = h.try
	h.newTB = func() *trialTB { return newTrialTB(ctx, nil) }
	b.Repeats = 1
	return h.run(ctx, &b)
}

// CheckControllers returns why HuntControllers refuses a selection; nil if it does not.
func CheckControllers(selection string) error {
	_, err := huntable(selection)
	return err
}

// huntable returns the names of a selection.
func huntable(selection string) ([]string, error) {
	var others []string
	scheduler := false
	for item := range strings.SplitSeq(selection, ",") {
		switch item = strings.TrimSpace(item); {
		case item == ownScheduler:
			scheduler = true
		case slices.Contains(inCluster, item):
			return nil, fmt.Errorf("the controller %s cannot be hunted: it needs what only the cluster's own process has", item)
		default:
			others = append(others, item)
		}
	}
	var names []string
	if text := strings.Join(others, ","); text != "" || !scheduler {
		var err error
		if names, err = controllers.ParseSelection(text, featuregates.Gates{}); err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(inCluster, name) })
	if scheduler {
		names = append(names, ownScheduler)
	}
	return names, nil
}

// without leaves the named controllers out of a cluster.
func without(names []string) minikcmtest.Option {
	return func(o *minikcm.Options) {
		if len(o.Controllers.Selected) == 0 {
			o.Controllers.Selected = []string{"*"}
		}
		o.Controllers.Selected = slices.DeleteFunc(slices.Clone(o.Controllers.Selected), func(name string) bool { return slices.Contains(names, name) })
		for _, name := range names {
			if name == ownScheduler {
				o.Controllers.NoScheduler = true
				continue
			}
			o.Controllers.Selected = append(o.Controllers.Selected, "-"+name)
		}
	}
}

// startParts starts controllers, and the scheduler, as the Start of an Operator does.
func startParts(t testing.TB, cluster *minikcmtest.Cluster, names []string) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running errgroup.Group
	end := func() error { return nil }
	stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(running.Wait(), end())
	})
	t.Cleanup(func() { _ = stop() }) // of a run that is over
	e, err := newEnv(cluster)
	if err != nil {
		t.Fatal(err)
	}
	end = e.Begin(ctx)
	parts, err := buildParts(ctx, e, names)
	if err != nil {
		t.Fatal(err)
	}
	e.StartInformers()
	for _, run := range parts {
		running.Go(func() error { return run(ctx) })
	}
	return stop
}

// newEnv returns an environment on the cluster's time, whose requests are the operator's.
func newEnv(cluster *minikcmtest.Cluster) (*controllers.Env, error) {
	config := apiserver.Protobuf(cluster.ConfigFor(DefaultUser, auth.GroupMasters))
	config.WarningHandler = rest.NoWarnings{}
	kinds, err := informers.KindsFor(config, cluster.Ledger(), informers.WithoutManagedFields())
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &controllers.Env{
		Clock: cluster.Clock(), Ledger: cluster.Ledger(), Random: cluster.Random(), Config: config, Informers: kinds, Logger: logr.Discard(),
		Recorder: events.NewRecorder(client.CoreV1(), cluster.Clock(), cluster.Ledger(), cluster.Random(), "minikcm"),
	}, nil
}

// buildParts builds controllers, and the scheduler. They run when they are called.
func buildParts(ctx context.Context, e *controllers.Env, names []string) (parts []func(context.Context) error, err error) {
	if slices.Contains(names, ownScheduler) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == ownScheduler })
		own := *e
		own.Random = e.Random.Fork()
		s, err := controllers.NewScheduler(ctx, &own, controllers.SchedulerOptions{})
		if err != nil {
			return nil, err
		}
		parts = append(parts, s.Run)
	}
	m, err := controllers.New(e, controllers.Options{Selected: names})
	if err != nil {
		return nil, err
	}
	return append(parts, m.Run), m.Build()
}
