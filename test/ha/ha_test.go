//go:build unix

package ha

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/test/binary"
	"minikcm.dev/minikcm/test/linearizability"
)

var (
	duration  = flag.Duration("for", 0, "how long faults are injected; 0: the test is skipped")
	processes = flag.Int("processes", 3, "how many minikcm processes run")
	seed      = flag.Uint64("seed", 1, "which faults follow each other")
	only      = flag.String("only", "", "a regular expression of the names of faults; the others are not injected")
)

// TestMain runs the tests, or an etcd member.
func TestMain(m *testing.M) {
	if arguments := os.Getenv(memberEnv); arguments != "" {
		if err := runMember(arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	klog.SetLogger(logr.Discard()) // client-go reports what the faults break off
	os.Exit(m.Run())
}

// fault is a fault of one process. end undoes it.
type fault struct {
	name       string
	begin, end func()
}

// world is everything that runs.
type world struct {
	t       *testing.T
	random  *clock.Random
	only    *regexp.Regexp
	members []*member
	servers []*server
	pods    *pods

	rounds, operations, unknown int
	slowest                     time.Duration // until all had converged after a fault
	byFault                     map[string]int
}

// TestFaults runs rounds of one fault each until the time is over.
func TestFaults(t *testing.T) {
	if *duration == 0 {
		t.Skip("it takes minutes: make ha runs it")
	}
	named, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, random: clock.NewRandom(*seed), only: named, pods: newPods(), byFault: map[string]int{}}
	var addresses []string
	w.members, addresses = startMembers(t, 3)
	w.servers = newServers(t, binary.Path(t), *processes, addresses)
	t.Cleanup(func() {
		if t.Failed() {
			w.report()
		}
	})
	w.createDeployments()
	elapsed := clock.Stopwatch()
	defer func() { w.summarize(elapsed()) }()
	if len(w.faults()) == 0 {
		t.Fatalf("no fault has a name like %q", *only)
	}
	for elapsed() < *duration && !t.Failed() {
		w.round()
	}
}

// summarize logs what was done.
func (w *world) summarize(elapsed time.Duration) {
	w.t.Logf("%d faults %v in %v: %d operations of clients, %d of them with an unknown outcome; %d pods, at most %d addresses at once; at most %v until all Deployments had converged",
		w.rounds, w.byFault, elapsed.Round(time.Second), w.operations, w.unknown, len(w.pods.seen), w.pods.addresses, w.slowest.Round(100*time.Millisecond))
}

// faults returns the possible faults of each process, restricted to the ones that -only names.
func (w *world) faults() (all []fault) {
	defer func() {
		all = slices.DeleteFunc(all, func(f fault) bool { return !w.only.MatchString(f.name) })
	}()
	for i, m := range w.members {
		next := w.members[(i+1)%len(w.members)]
		all = append(all,
			fault{"kill etcd", m.kill, m.start}, fault{"pause etcd", stopped(m.process), continued(m.process)},
			fault{"cut etcd off", func() { w.isolate(m, true) }, func() { w.isolate(m, false) }},
			fault{"cut a link of etcd", func() { m.cut(next, true) }, func() { m.cut(next, false) }})
	}
	for _, s := range w.servers {
		all = append(all,
			fault{"kill minikcm", s.kill, s.start}, fault{"pause minikcm", stopped(s.process), continued(s.process)},
			fault{"cut minikcm off", func() { s.cut(true) }, func() { s.cut(false) }})
	}
	return all
}

// isolate cuts a member of etcd off from the other members, but not from its clients.
func (w *world) isolate(m *member, is bool) {
	for _, other := range w.members {
		if other != m {
			m.cut(other, is)
		}
	}
}

func stopped(p *process) func()   { return func() { p.signal(syscall.SIGSTOP) } }
func continued(p *process) func() { return func() { p.signal(syscall.SIGCONT) } }

// round injects a fault while clients work, and checks everything afterwards.
func (w *world) round() {
	all := w.faults()
	f := all[w.random.IntN(len(all))]
	w.rounds++
	w.byFault[f.name]++
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	finish, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	type outcome struct {
		record *linearizability.Record
		err    error
	}
	ended := make(chan outcome, 1)
	work := linearizability.Workload{
		Name: fmt.Sprintf("round-%d", w.rounds), Endpoints: w.clients(), Clients: 5, Watchers: 3, Keys: 4,
		Timeout: 3 * time.Second, Pause: 5 * time.Millisecond, Random: w.random.Fork(),
	}
	go func() {
		record, err := work.Run(ctx, finish)
		ended <- outcome{record, err}
	}()
	w.change()
	w.observe(time.Second)
	f.begin()
	w.observe(time.Duration(2+w.random.IntN(7)) * time.Second)
	f.end()
	recovered := clock.Stopwatch()
	w.observe(time.Second)
	stop()
	result := <-ended
	if result.err == nil {
		w.operations, w.unknown = w.operations+len(result.record.Operations), w.unknown+result.record.Unknown()
		result.err = result.record.Check()
	}
	if result.err != nil {
		w.t.Errorf("round %d (%s): %v", w.rounds, f.name, result.err)
	}
	w.settle(f.name)
	w.slowest = max(w.slowest, recovered())
}

func (w *world) clients() (clients []kubernetes.Interface) {
	for _, s := range w.servers {
		clients = append(clients, s.client)
	}
	return clients
}

// observe lists the pods again and again for d.
func (w *world) observe(d time.Duration) {
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	for i := 0; ctx.Err() == nil; i++ {
		attempt, end := context.WithTimeout(ctx, time.Second)
		list, err := w.servers[i%len(w.servers)].client.CoreV1().Pods("default").List(attempt, metav1.ListOptions{})
		end()
		if err == nil {
			w.pods.check(w.t, list.Items)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

const deployments = 3

func (w *world) createDeployments() {
	for i := range deployments {
		name, replicas := fmt.Sprintf("web-%d", i), int32(5)
		labels := map[string]string{"app": name}
		deployment := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
			},
		}
		w.try("creating a Deployment", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{})
			return err
		})
	}
	w.settle("nothing")
}

// try makes a request at any server until it succeeds.
func (w *world) try(what string, request func(ctx context.Context, client kubernetes.Interface) error) {
	w.t.Helper()
	eventually(w.t, what, func(ctx context.Context) error {
		err := request(ctx, w.servers[w.random.IntN(len(w.servers))].client)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// change scales the Deployments, rolls one out again, and creates Services.
func (w *world) change() {
	for i := range deployments {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, 2+w.random.IntN(15))
		if i == w.rounds%deployments {
			patch = fmt.Sprintf(`{"spec":{"replicas":%d,"template":{"metadata":{"annotations":{"round":"%d"}}}}}`, 2+w.random.IntN(15), w.rounds)
		}
		w.try("changing a Deployment", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.AppsV1().Deployments("default").Patch(ctx, fmt.Sprintf("web-%d", i), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		})
	}
	for i := range 2 {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d-%d", w.rounds, i)},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		w.try("creating a Service", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{})
			return err
		})
	}
}

// settle waits until all processes serve and everything is as it should be.
func (w *world) settle(after string) {
	w.t.Helper()
	for _, p := range w.members {
		p.alive()
	}
	for _, s := range w.servers {
		s.alive()
		eventually(w.t, fmt.Sprintf("%s to serve after %s", s.name, after), s.ready)
		eventually(w.t, fmt.Sprintf("the Deployments to converge after %s, by %s", after, s.name), func(ctx context.Context) error { return w.converged(ctx, s.client) })
	}
	w.observe(100 * time.Millisecond)
}

// converged returns an error for each Deployment that is not as it should be, and for
// addresses and node ports that two Services have.
func (w *world) converged(ctx context.Context, client kubernetes.Interface) error {
	var errs []error
	for i := range deployments {
		d, err := client.AppsV1().Deployments("default").Get(ctx, fmt.Sprintf("web-%d", i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		s, want := d.Status, *d.Spec.Replicas
		if s.ObservedGeneration != d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
			errs = append(errs, fmt.Errorf("%s wants %d replicas of generation %d, has %+v", d.Name, want, d.Generation, s))
		}
	}
	services, err := client.CoreV1().Services("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	holder := map[string]string{}
	for _, s := range services.Items {
		keys := []string{s.Spec.ClusterIP}
		for _, port := range s.Spec.Ports {
			if port.NodePort != 0 {
				keys = append(keys, fmt.Sprint(port.NodePort))
			}
		}
		for _, key := range keys {
			if other := holder[key]; other != "" {
				w.t.Errorf("Services %s and %s both have %s", other, s.Name, key)
			}
			holder[key] = s.Name
		}
	}
	return errors.Join(errs...)
}
