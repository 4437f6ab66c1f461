package client

import (
	"context"
	"time"
)

// TB has the methods that Start uses of a *testing.T, *testing.B or *testing.F, or of Ginkgo's GinkgoT().
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
	Cleanup(func())
}

// startTimeout is how long a cluster may take to start in a test.
const startTimeout = time.Minute

// TestCluster is a cluster for a test: its methods fail the test instead of returning errors.
// Cluster has the methods with a context and an error.
type TestCluster struct {
	*Cluster
	t TB
}

// Start starts a cluster that ends with the test. If the test fails, the end of what minikcm
// wrote to standard error is logged.
func Start(t TB, opts ...Option) *TestCluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cluster, err := Run(ctx, opts...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Logf("stopping the cluster: %v", err)
		}
		if t.Failed() {
			t.Logf("minikcm printed: %s", cluster.stderr)
		}
	})
	return &TestCluster{Cluster: cluster, t: t}
}

// must returns the result of a request, or fails the test.
func must[T any](t TB) func(result T, err error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return result
	}
}

// Info is Cluster.Info.
func (c *TestCluster) Info() *Info {
	c.t.Helper()
	return must[*Info](c.t)(c.Cluster.Info(context.Background()))
}

// Controllers is Cluster.Controllers.
func (c *TestCluster) Controllers() []Controller {
	c.t.Helper()
	return must[[]Controller](c.t)(c.Cluster.Controllers(context.Background()))
}

// Clock is Cluster.Clock.
func (c *TestCluster) Clock() *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Clock(context.Background()))
}

// Now returns the cluster's time.
func (c *TestCluster) Now() time.Time {
	c.t.Helper()
	return c.Clock().Now
}

// Pause is Cluster.Pause.
func (c *TestCluster) Pause() *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Pause(context.Background()))
}

// Resume is Cluster.Resume.
func (c *TestCluster) Resume() *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Resume(context.Background()))
}

// Step is Cluster.Step.
func (c *TestCluster) Step() *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Step(context.Background()))
}

// SetSpeed is Cluster.SetSpeed.
func (c *TestCluster) SetSpeed(speed float64) *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.SetSpeed(context.Background(), speed))
}

// Advance is Cluster.Advance.
func (c *TestCluster) Advance(d time.Duration) *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Advance(context.Background(), d))
}

// Settle is Cluster.Settle.
func (c *TestCluster) Settle() *Clock {
	c.t.Helper()
	return must[*Clock](c.t)(c.Cluster.Settle(context.Background()))
}

// Fail is Cluster.Fail.
func (c *TestCluster) Fail(document string) *Fault {
	c.t.Helper()
	return must[*Fault](c.t)(c.Cluster.Fail(context.Background(), document))
}

// Fault is Cluster.Fault.
func (c *TestCluster) Fault(id string) *Fault {
	c.t.Helper()
	return must[*Fault](c.t)(c.Cluster.Fault(context.Background(), id))
}

// Faults is Cluster.Faults.
func (c *TestCluster) Faults() []Fault {
	c.t.Helper()
	return must[[]Fault](c.t)(c.Cluster.Faults(context.Background()))
}

// RunScenario is Cluster.RunScenario.
func (c *TestCluster) RunScenario(what Scenario) *ScenarioRun {
	c.t.Helper()
	return must[*ScenarioRun](c.t)(c.Cluster.RunScenario(context.Background(), what))
}

// FollowScenario is Cluster.FollowScenario.
func (c *TestCluster) FollowScenario(id string) *ScenarioRun {
	c.t.Helper()
	return must[*ScenarioRun](c.t)(c.Cluster.FollowScenario(context.Background(), id, nil))
}

// StopFault is Cluster.StopFault.
func (c *TestCluster) StopFault(id string) *Fault {
	c.t.Helper()
	return must[*Fault](c.t)(c.Cluster.StopFault(context.Background(), id))
}

// Writes is Cluster.Writes.
func (c *TestCluster) Writes(of WritesOf) []Write {
	c.t.Helper()
	return must[[]Write](c.t)(c.Cluster.Writes(context.Background(), of))
}

// Why is Cluster.Why.
func (c *TestCluster) Why(resource, namespace, name string) *Explanation {
	c.t.Helper()
	return must[*Explanation](c.t)(c.Cluster.Why(context.Background(), resource, namespace, name))
}

// Snapshot is Cluster.Snapshot.
func (c *TestCluster) Snapshot(file string) {
	c.t.Helper()
	if err := c.Cluster.Snapshot(context.Background(), file); err != nil {
		c.t.Fatalf("%v", err)
	}
}

// Reset is Cluster.Reset.
func (c *TestCluster) Reset() {
	c.t.Helper()
	if err := c.Cluster.Reset(context.Background()); err != nil {
		c.t.Fatalf("%v", err)
	}
}
