package hunt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
)

// The operators of this file do on a small scale what parts of Kubernetes do, with mistakes that these parts had. A pod is a ConfigMap of the
// kind task, a machine is a Secret.

// thisMachine is the machine of the kubelet that is hunted; the test stands for the other one.
const thisMachine = "machine-1"

// kubelet runs the tasks of its machine: for each there is a Secret. The mistake: after a restart it believes an old view, and runs a
// task that runs on another machine by now.
func kubelet(mgr ctrl.Manager, _ *minikcmtest.Cluster, repaired bool) error {
	k, live := mgr.GetClient(), mgr.GetAPIReader()
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if req.Namespace != namespace {
			return ctrl.Result{}, nil
		}
		mine := func(from client.Reader) (bool, error) {
			task := &corev1.ConfigMap{}
			err := from.Get(ctx, req.NamespacedName, task)
			return err == nil && task.Data["machine"] == thisMachine, client.IgnoreNotFound(err)
		}
		wanted, err := mine(k)
		if err == nil && repaired {
			wanted, err = mine(live)
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		runs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name + "-on-" + thisMachine}}
		if wanted {
			return ctrl.Result{}, (&kit{Client: k}).make(ctx, runs)
		}
		return ctrl.Result{}, client.IgnoreNotFound(k.Delete(ctx, runs))
	}))
}

// runsOnce is the user's condition that the task db does not run on two machines.
func runsOnce(ctx context.Context, c *minikcmtest.Cluster) error {
	for _, machine := range []string{thisMachine, "machine-2"} {
		if _, err := c.Client().CoreV1().Secrets(namespace).Get(ctx, "db-on-"+machine, metav1.GetOptions{}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return errors.New("the task runs on two machines")
}

// secret creates or deletes a Secret.
func secret(name string, exists bool) hunt.Step {
	verb := map[bool]string{true: "create ", false: "delete "}[exists]
	return step(verb+name, func(ctx context.Context, c *minikcmtest.Cluster) (err error) {
		if !exists {
			return c.Client().CoreV1().Secrets(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}
		_, err = c.Client().CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	})
}

// scheduler gives tasks to machines, each of which has room for one.
type scheduler struct {
	client.Client
	live client.Reader
	// tombstones says which deletions are noted that were only found by a list.
	tombstones func(o any) bool

	mu sync.Mutex
	// machines are those that exist, used the machines of the tasks.
	machines []string
	used     map[string]string
}

// handlers keep the scheduler's memory of a kind.
func (s *scheduler) handlers(seen func(o client.Object), gone func(name string)) cache.ResourceEventHandler {
	locked := func(do func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { locked(func() { seen(o.(client.Object)) }) },
		UpdateFunc: func(_, o any) { locked(func() { seen(o.(client.Object)) }) },
		DeleteFunc: func(o any) {
			if t, ok := o.(cache.DeletedFinalStateUnknown); ok {
				if !s.tombstones(t.Obj) {
					return
				}
				o = t.Obj
			}
			locked(func() { gone(o.(client.Object).GetName()) })
		},
	}
}

// schedulerWith returns the setUp of a scheduler that forgets the tombstones of a kind, unless it is repaired.
func schedulerWith(forgets func(o any) bool) func(ctrl.Manager, *minikcmtest.Cluster, bool) error {
	return func(mgr ctrl.Manager, _ *minikcmtest.Cluster, repaired bool) error {
		s := &scheduler{Client: mgr.GetClient(), live: mgr.GetAPIReader(), used: map[string]string{}, tombstones: func(o any) bool { return repaired || !forgets(o) }}
		ctx := context.Background()
		for kind, h := range map[client.Object]cache.ResourceEventHandler{
			&corev1.Secret{}: s.handlers(func(o client.Object) {
				if !slices.Contains(s.machines, o.GetName()) {
					s.machines = append(s.machines, o.GetName())
				}
			}, func(name string) {
				s.machines = slices.DeleteFunc(s.machines, func(m string) bool { return m == name })
			}),
			&corev1.ConfigMap{}: s.handlers(func(o client.Object) {
				if machine := o.(*corev1.ConfigMap).Data["machine"]; machine != "" {
					s.used[o.GetName()] = machine
				}
			}, func(name string) { delete(s.used, name) }),
		} {
			informer, err := mgr.GetCache().GetInformer(ctx, kind)
			if err != nil {
				return err
			}
			if _, err := informer.AddEventHandler(h); err != nil {
				return err
			}
		}
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(s.schedule))
	}
}

func (s *scheduler) schedule(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	task := &corev1.ConfigMap{}
	if err := s.Get(ctx, req.NamespacedName, task); err != nil || task.Labels["kind"] != "task" || task.Data["machine"] != "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s.mu.Lock()
	var free []string
	for _, m := range s.machines {
		if full := slices.Contains(slices.Collect(maps.Values(s.used)), m); !full {
			free = append(free, m)
		}
	}
	s.mu.Unlock()
	if len(free) == 0 {
		return ctrl.Result{RequeueAfter: 5 * time.Second}, nil
	}
	machine := slices.Min(free)
	if err := s.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: machine}, &corev1.Secret{}); err != nil {
		return ctrl.Result{}, fmt.Errorf("the machine %s: %w", machine, err)
	}
	task.Data = map[string]string{"machine": machine}
	if err := s.Update(ctx, task); err != nil {
		return ctrl.Result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[task.Name] = machine
	return ctrl.Result{}, nil
}

const (
	// period is the schedule of cron, and mostRuns after how many runs it is done.
	period   = 4 * time.Second
	mostRuns = 5
	// mostMissed is how many starts it may have missed. It is 100 in Kubernetes, where the controller was away overnight, and not for ten
	// seconds.
	mostMissed = 1
)

// cron creates a run each period. The mistake: when it has missed too many starts, it starts nothing any more.
func cron(mgr ctrl.Manager, cluster *minikcmtest.Cluster, repaired bool) error {
	k := &kit{Client: mgr.GetClient()}
	now := cluster.Clock().Now
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		job := &corev1.ConfigMap{}
		if err := k.Get(ctx, req.NamespacedName, job); err != nil || job.Labels["kind"] != "cron" {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		runs := number(job, "runs")
		if runs == mostRuns {
			return ctrl.Result{}, nil
		}
		last := job.CreationTimestamp.Time
		if text := job.Data["last"]; text != "" {
			last, _ = time.Parse(time.RFC3339, text)
		}
		missed := int(now().Sub(last) / period)
		switch {
		case missed == 0:
			return ctrl.Result{RequeueAfter: last.Add(period).Sub(now())}, nil
		case missed > mostMissed && !repaired:
			return ctrl.Result{}, nil // "too many missed start times"
		}
		if err := k.make(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: fmt.Sprintf("run-%d", runs+1)}}); err != nil {
			return ctrl.Result{}, err
		}
		job.Data = map[string]string{"runs": strconv.Itoa(runs + 1), "last": now().UTC().Format(time.RFC3339)}
		return ctrl.Result{}, k.Update(ctx, job)
	}))
}

var apps = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "apps"}

func newApp() *unstructured.Unstructured {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(apps.GroupVersion().WithKind("App"))
	return app
}

// autoscaler rolls an App's image out with one pod more, and scales the App so that its pods, which are all busy, are as many as it
// needs. The mistake: it counts the pod of the rollout.
func autoscaler(mgr ctrl.Manager, _ *minikcmtest.Cluster, repaired bool) error {
	k := mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).For(newApp()).Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		app := newApp()
		if err := k.Get(ctx, req.NamespacedName, app); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		get := func(path ...string) int64 { n, _, _ := unstructured.NestedInt64(app.Object, path...); return n }
		image, _, _ := unstructured.NestedString(app.Object, "spec", "image")
		rolled, _, _ := unstructured.NestedString(app.Object, "status", "image")
		replicas, pods := get("spec", "replicas"), get("status", "pods")
		status := map[string]any{"image": image, "pods": replicas}
		rolling := rolled != image && pods > 0
		if rolling && pods <= replicas {
			status = map[string]any{"image": rolled, "pods": replicas + 1}
		}
		if !repaired && pods > replicas {
			if err := unstructured.SetNestedField(app.Object, pods, "spec", "replicas"); err != nil {
				return ctrl.Result{}, err
			}
			if err := k.Update(ctx, app); err != nil {
				return ctrl.Result{}, err
			}
		}
		if rolled == image && pods == replicas {
			return ctrl.Result{}, nil
		}
		if err := unstructured.SetNestedMap(app.Object, status, "status"); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: time.Second}, k.Status().Update(ctx, app)
	}))
}

// createApp is the step that creates an App.
var createApp = step("create app", func(ctx context.Context, c *minikcmtest.Cluster) error {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	app := newApp()
	app.SetName("web")
	app.Object["spec"] = map[string]any{"image": "a", "replicas": int64(2)}
	_, err = client.Resource(apps).Namespace(namespace).Create(ctx, app, metav1.CreateOptions{})
	return err
})

// published are the bugs.
var published = []*bug{
	{
		name: "zookeeper-operator #312, cass-operator #412", setUp: stores(byName, &corev1.Secret{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("1", "10"), remove("db"), store("1", "10"), writeData(readVolume("data-db-0")), change("db", "image", "2")}, AtEnd: dataIsThere(readVolume("data-db-0"))},
		known:    []string{"stale restart with configmaps as before delete secrets default/data-db-0, after update configmaps default/db (6)"},
	},
	{
		name: "zookeeper-operator #314", setUp: stores(scaled, &corev1.Secret{}),
		workload: hunt.Workload{
			Steps: []hunt.Step{store("2", "10"), change("db", "replicas", "1"), change("db", "replicas", "2"), writeData(readVolume("data-db-1")), change("db", "image", "2")},
			AtEnd: dataIsThere(readVolume("data-db-1")),
		},
		known: []string{"stale restart with configmaps as before delete secrets default/data-db-1, after update configmaps default/db (2)"},
	},
	{
		name: "rabbitmq cluster-operator #648", setUp: stores(setByName, &appsv1.StatefulSet{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("1", "10"), remove("db"), store("1", "10"), writeData(readSet), change("db", "image", "2")}, AtEnd: dataIsThere(readSet)},
		known:    []string{"stale restart with configmaps as before delete statefulsets.apps default/set-db, after update configmaps default/db (6)"},
	},
	{
		name: "rabbitmq cluster-operator #653", setUp: stores(resized, &appsv1.StatefulSet{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("1", "10"), change("db", "storage", "15"), writeData(readSet), change("db", "image", "2")}, AtEnd: dataIsThere(readSet)},
		known:    []string{"stale restart with configmaps as before update configmaps default/db, after update configmaps default/db (2)"},
	},
	{
		name: "rabbitmq cluster-operator #782", setUp: stores(expanded, &appsv1.StatefulSet{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("1", "10"), change("db", "storage", "15")}},
		known:    []string{"crash after delete statefulsets.apps default/set-db"},
	},
	{
		name: "casskop #370", setUp: stores(decommissioned, &appsv1.StatefulSet{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("2", "10"), change("db", "replicas", "1")}},
		known:    []string{"crash after update statefulsets.apps default/set-db"},
	},
	{
		name: "kuberay #715", setUp: stores(counted, &corev1.Pod{}), workload: hunt.Workload{Steps: []hunt.Step{store("2", "10")}, Always: fewPods},
		known: []string{"late events of pods from create pods default/pod-db-*"},
	},
	{
		name: "cluster-api #13649", setUp: stores(templated, &corev1.Secret{}), workload: hunt.Workload{Steps: []hunt.Step{store("1", "10")}},
		known: []string{"late events of secrets from create secrets default/set-db-*"},
	},
	{
		name: "kubernetes #59848", setUp: kubelet,
		workload: hunt.Workload{
			Steps: []hunt.Step{
				object("task", "db", map[string]string{"machine": thisMachine}), remove("db"), object("task", "db", map[string]string{"machine": "machine-2"}), secret("db-on-machine-2", true),
				object("task", "web", map[string]string{"machine": thisMachine}),
			},
			Always: runsOnce,
		},
		known: []string{"stale restart with configmaps as before create secrets default/db-on-machine-1, after create secrets default/web-on-machine-1"},
	},
	{
		name: "kubernetes #56261", setUp: schedulerWith(func(o any) bool { _, machine := o.(*corev1.Secret); return machine }),
		workload: hunt.Workload{
			Steps:  []hunt.Step{secret("machine-1", true), secret("machine-2", true), secret("machine-3", true), object("task", "a", nil), secret("machine-2", false), object("task", "b", nil)},
			Settle: 10 * time.Second,
		},
		known: []string{"missed events of secrets from update configmaps default/a"},
	},
	{
		name: "kubernetes #55587", setUp: schedulerWith(func(o any) bool { _, task := o.(*corev1.ConfigMap); return task }),
		workload: hunt.Workload{Steps: []hunt.Step{secret("machine-1", true), object("task", "a", nil), remove("a"), object("task", "b", nil)}, Settle: 10 * time.Second},
		known:    []string{"missed events of configmaps from update configmaps default/a"},
	},
	{
		name: "kubernetes #42649", setUp: cron, workload: hunt.Workload{Steps: []hunt.Step{object("cron", "nightly", nil)}},
		known: []string{"crash after create secrets default/run-2"},
	},
	{
		name: "kubernetes #72775", setUp: autoscaler, workload: hunt.Workload{Steps: []hunt.Step{createApp}}, crds: []string{"testdata/apps.yaml"},
		known: []string{`edit of apps.example.com default/web: spec.image="" for thirty seconds, from update apps.example.com/status default/web`},
	},
	{
		name: "kubernetes #65200", setUp: collect,
		workload: hunt.Workload{Steps: []hunt.Step{
			createNamespace("backup"), createNamespace("staging"), createNamespace("test"), object("owner", "db", nil), part("db", namespace), part("db", "backup"), part("db", "staging"), part("db", "test"),
			object("owner", "old", nil), part("old", namespace), remove("old"),
		}, Settle: 10 * time.Second},
		known: []string{"crash after delete secrets default/part-of-old"},
		// The parts of an owner that a user recreates go, as they should.
		options: []hunt.Option{hunt.Without(hunt.Recreate)},
	},
	{
		name: "kubernetes #130103", setUp: stores(tracked, &corev1.Secret{}), workload: hunt.Workload{Steps: []hunt.Step{store("1", "10"), finish}, Always: onePod},
		known: []string{"late events of configmaps from update configmaps default/db"},
	},
	{
		name: "karpenter #3176", setUp: provision,
		workload: hunt.Workload{Steps: []hunt.Step{object("task", "a", map[string]string{"type": "scarce"}), object("task", "b", map[string]string{"type": "common"})}},
		known:    []string{"slow answer of create secrets default/claim-a"},
	},
	{
		name: "instaclustr cassandra-operator #398", setUp: stores(drained, &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.Secret{}),
		workload: hunt.Workload{Steps: []hunt.Step{store("2", "10"), change("db", "replicas", "1")}},
		known:    []string{"missed events of pods from update statefulsets.apps default/set-db"},
		options:  []hunt.Option{withPods},
	},
	{
		name: "instaclustr cassandra-operator #407", setUp: stores(drained, &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.Secret{}),
		workload: hunt.Workload{
			Steps: []hunt.Step{store("2", "10"), change("db", "replicas", "1"), change("db", "replicas", "2"), writeData(readVolume("data-db-1")), change("db", "image", "2")},
			AtEnd: dataIsThere(readVolume("data-db-1")),
		},
		known:   []string{"stale restart with pods as before delete secrets default/data-db-1, after update configmaps default/db (2)"},
		options: []hunt.Option{withPods},
	},
	{
		name: "instaclustr cassandra-operator #410", setUp: ring, workload: hunt.Workload{Steps: []hunt.Step{createApp}}, crds: []string{"testdata/apps.yaml"},
		known: []string{"edit of apps.example.com default/web: spec.replicas=0 for thirty seconds, from create secrets default/node-web-1"},
	},
}
