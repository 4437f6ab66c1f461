package fault

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ReplicaSet gets no new pods while its controller is down; when the fault is over, it does.
func TestControllersDown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{action: crash, names: [replicaset-controller]}", "{action: pause, names: [replicaset-controller]}"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.web(2)
			wait := b.begin(t.Context(), read(t, "{controllers: "+text+", for: 1m}"))
			b.advance(time.Second)
			b.run(read(t, "pods: {action: kill}"))
			b.advance(50 * time.Second)
			b.wantReady(1)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			b.advance(10 * time.Second)
			b.wantReady(2)
		})
	}
}

func TestControllerCrash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	b.run(read(t, "controllers: {action: crash, all: true}"))
	b.run(read(t, "pods: {action: kill}"))
	b.advance(time.Minute)
	b.wantReady(2)
	for _, status := range b.cluster.Controllers() {
		if status.State != "Disabled" && (status.State != "Running" || status.Restarts != 1) {
			t.Errorf("%s is %s after %d restarts", status.Name, status.State, status.Restarts)
		}
	}
}

func TestSlowController(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	b.run(read(t, "controllers: {action: slow, names: [replicaset-controller], delay: 30s}"))
	b.run(read(t, "pods: {action: kill}"))
	b.advance(20 * time.Second)
	b.wantReady(1)
	b.advance(time.Minute)
	b.wantReady(2)
	b.over()
}

func TestDuplicateController(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(3)
	b.run(read(t, "controllers: {action: duplicate, names: [replicaset-controller, deployment-controller]}"))
	b.run(read(t, "pods: {action: kill, count: 2}"))
	b.advance(time.Minute)
	b.wantReady(3)
	b.over()
}

func TestLostEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	b.run(read(t, "controllers: {action: loseEvents, names: [replicaset-controller]}"))
	b.run(read(t, "pods: {action: kill}"))
	b.advance(time.Minute)
	b.wantReady(1)
	b.over()
	b.run(read(t, "pods: {action: kill}"))
	b.advance(10 * time.Minute)
	b.wantReady(2)
}

func TestClocks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun := b.cluster.Clock().Now()
	wait := b.begin(t.Context(), read(t, "{clock: {action: jump, by: 1h}, for: 1m}"))
	b.advance(time.Second)
	if passed := b.cluster.Clock().Since(begun); passed != time.Hour+time.Second {
		t.Errorf("%v have passed", passed)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if passed := b.cluster.Clock().Since(begun); passed != time.Minute {
		t.Errorf("in the end %v have passed", passed)
	}
	b.run(read(t, "clock: {action: skew, by: -10m, nodes: [node-0], controllers: [cronjob-controller]}"))
	b.advance(time.Minute)
	off := func() time.Duration {
		lease, err := b.client.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "node-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b.cluster.Clock().Since(lease.Spec.RenewTime.Time)
	}
	if d := off(); d < 10*time.Minute {
		t.Errorf("the lease was renewed %v ago", d)
	}
	b.over()
	b.advance(time.Minute)
	if d := off(); d > time.Minute {
		t.Errorf("in the end the lease was renewed %v ago", d)
	}
}

// A share of the controllers leaves out those without a queue, also while they are down.
func TestControllersWithoutQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wait := b.begin(t.Context(), read(t, "{controllers: {action: crash, names: [node-ipam-controller]}, for: 1m}"))
	b.run(read(t, "{controllers: {action: slow, delay: 1s, all: true}, for: 10s}"))
	if err := wait(); err != nil {
		t.Error(err)
	}
}
