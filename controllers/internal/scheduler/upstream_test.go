package scheduler

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/events"
)

var (
	upstreamFile  = flag.String("upstream", "testdata/upstream.jsonl.gz", "the recording of upstream's decisions")
	upstreamLimit = flag.Int("upstream.limit", 5, "how many differences of a kind are printed")
	upstreamShow  = flag.Bool("upstream.show", false, "print the objects of a cluster with differences")
)

// upstreamCluster is a line of the recording: the objects of a cluster, and upstream's decisions on pods in
// this state. test/conformance/scheduling makes it.
type upstreamCluster struct {
	Seed      uint64             `json:"seed"`
	Config    json.RawMessage    `json:"config"` // a KubeSchedulerConfiguration; nil: the default
	Objects   []json.RawMessage  `json:"objects"`
	Decisions []upstreamDecision `json:"decisions"`
}

type upstreamDecision struct {
	Pod      *corev1.Pod `json:"pod"`
	decision `json:",inline"`
}

// decision holds the parts of a decision that are compared.
type decision struct {
	// Feasible are the nodes that passed the filters, sorted, and Against the plugins and reasons against the
	// others that were tried.
	Feasible []string          `json:"feasible,omitempty"`
	Against  map[string]string `json:"against,omitempty"`
	// Message is the message of FailedScheduling; "": nodes are feasible. The part about preemption does not
	// name the node that it frees.
	Message string `json:"message,omitempty"`
	// Candidates are the nodes that preemption can free, with its victims, sorted.
	Candidates []upstreamCandidate `json:"candidates,omitempty"`
	// Error is an error that ends the decision.
	Error string `json:"error,omitempty"`
	// Scores are the scores of each plugin times its weight, in the order of Feasible, if there is a choice.
	// Plugins that give all nodes 0 are left out.
	Scores map[string][]int64 `json:"scores,omitempty"`
}

// upstreamCandidate is a node that preemption can free.
type upstreamCandidate struct {
	Node       string   `json:"node"`
	Victims    []string `json:"victims"`
	Violations int      `json:"violations,omitempty"`
	// Best is set if no other candidate is better.
	Best bool `json:"best,omitempty"`
}

func TestUpstreamDecides(t *testing.T) {
	file, err := os.Open(*upstreamFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	clusters, pods, feasible, differ := 0, 0, 0, map[string]int{}
	for decoder := json.NewDecoder(unzipped); decoder.More(); {
		var c upstreamCluster
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		clusters++
		s := schedulerIn(t, client, &c)
		for i := range c.Decisions {
			d := &c.Decisions[i]
			pods++
			if len(d.Feasible) > 0 {
				feasible++
			}
			s.compareUntraced(t, d.Pod)
			differences := d.compare(s.decisionOn(d.Pod))
			for _, difference := range differences {
				differ[difference.what]++
				if differ[difference.what] <= *upstreamLimit {
					t.Errorf("seed %d, pod %s: %s", c.Seed, d.Pod.Name, difference)
				}
			}
			if len(differences) > 0 && *upstreamShow {
				t.Logf("the pod: %s\nthe configuration: %s\nthe cluster:\n%s", encoded(t, d.Pod), c.Config, c.Objects)
			}
		}
	}
	t.Logf("%d clusters, %d pods, of which %d fit on a node", clusters, pods, feasible)
	for _, what := range slices.Sorted(maps.Keys(differ)) {
		t.Errorf("%s: %d pods differ", what, differ[what])
	}
	if pods == 0 {
		t.Error("no decisions")
	}
}

func encoded(t *testing.T, o any) string {
	t.Helper()
	data, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// difference is one between two decisions.
type difference struct{ what, got, want string }

func (d difference) String() string { return fmt.Sprintf("%s: %s, upstream %s", d.what, d.got, d.want) }

func (d *decision) compare(got decision) []difference {
	var all []difference
	add := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			all = append(all, difference{what, g, w})
		}
	}
	add("feasible nodes", got.Feasible, d.Feasible)
	add("message", got.Message, d.Message)
	add("error", got.Error, d.Error)
	add("reasons", got.Against, d.Against)
	add("candidates of preemption", got.Candidates, d.Candidates)
	if len(all) > 0 {
		return all
	}
	names := maps.Clone(d.Scores)
	if names == nil {
		names = map[string][]int64{}
	}
	maps.Copy(names, got.Scores)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add("scores of "+name, got.Scores[name], d.Scores[name])
	}
	return all
}

// schedulerIn returns a scheduler that does not run, whose informers show the objects.
func schedulerIn(t *testing.T, client *fake.Clientset, c *upstreamCluster) *Scheduler {
	t.Helper()
	kinds := informers.KindsOf(client, nil)
	ledger, random := clock.NewLedger(), clock.NewRandom(1)
	e := &env.Env{
		Clock: clock.Real(), Ledger: ledger, Random: random, Informers: kinds, Logger: klog.Background(),
		Recorder: events.NewRecorder(client.CoreV1(), clock.Real(), ledger, random, "test"),
	}
	var options Options
	var err error
	if c.Config != nil {
		if options.Config, err = config.Parse(c.Config); err != nil {
			t.Fatalf("seed %d: %v", c.Seed, err)
		}
	}
	s, err := newScheduler(e, client, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.queue.Close)
	for _, data := range c.Objects {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if err := s.show(kinds, o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range c.Decisions {
		if err := s.show(kinds, c.Decisions[i].Pod); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// show acts as an informer that gets an object.
func (s *Scheduler) show(kinds informers.Kinds, o runtime.Object) error {
	var informer cache.SharedIndexInformer
	var handler cache.ResourceEventHandler
	switch o.(type) {
	case *corev1.Namespace:
		informer = kinds.Namespaces().Informer()
	case *corev1.Node:
		informer, handler = kinds.Nodes().Informer(), s.nodeHandler()
	case *corev1.Pod:
		informer, handler = kinds.Pods().Informer(), s.podHandler()
	case *corev1.Service:
		informer = kinds.Services().Informer()
	case *corev1.ReplicationController:
		informer = kinds.ReplicationControllers().Informer()
	case *appsv1.ReplicaSet:
		informer = kinds.ReplicaSets().Informer()
	case *appsv1.StatefulSet:
		informer = kinds.StatefulSets().Informer()
	case *corev1.PersistentVolume:
		informer = kinds.PersistentVolumes().Informer()
	case *corev1.PersistentVolumeClaim:
		informer = kinds.PersistentVolumeClaims().Informer()
	case *storagev1.StorageClass:
		informer = kinds.StorageClasses().Informer()
	case *storagev1.CSINode:
		informer = kinds.CSINodes().Informer()
	case *storagev1.VolumeAttachment:
		informer = kinds.VolumeAttachments().Informer()
	case *storagev1.CSIDriver:
		informer = kinds.CSIDrivers().Informer()
	case *storagev1.CSIStorageCapacity:
		informer = kinds.CSIStorageCapacities().Informer()
	case *policyv1.PodDisruptionBudget:
		informer = kinds.PodDisruptionBudgets().Informer()
	case *resourcev1.ResourceClaim:
		informer, handler = kinds.ResourceClaims().Informer(), s.resourceClaimHandler()
	case *resourcev1.ResourceSlice:
		informer, handler = kinds.ResourceSlices().Informer(), s.sliceHandler()
	case *resourcev1.DeviceClass:
		informer, handler = kinds.DeviceClasses().Informer(), s.devices.backing
	default:
		return fmt.Errorf("unexpected object: %T", o)
	}
	if err := informer.GetIndexer().Add(o); err != nil {
		return err
	}
	if handler != nil {
		handler.OnAdd(o, true)
	}
	return nil
}

// decisionOn decides on a pod that the queue does not have.
func (s *Scheduler) decisionOn(pod *corev1.Pod) decision {
	s.snapshot = s.cache.UpdateSnapshot(s.snapshot)
	in := s.inputOn(&queue.Attempt{Info: framework.NewPodInfo(pod), Nominated: pod.Status.NominatedNodeName})
	in.Trace = &plugins.Trace{}
	d := plugins.Decide(in)
	made := decision{Against: map[string]string{}}
	if d.Err != nil {
		made.Error = d.Err.Error()
		return made
	}
	if d.Diagnosis != nil {
		made.preempt(s, in, d.Diagnosis)
	}
	for _, n := range in.Trace.Nodes {
		if n.Plugin == "" {
			made.Feasible = append(made.Feasible, n.Node)
		} else {
			made.Against[n.Node] = n.Plugin + ": " + strings.Join(slices.Sorted(slices.Values(n.Reasons)), ", ")
		}
	}
	slices.Sort(made.Feasible)
	for _, scores := range in.Trace.Scores {
		if made.Scores == nil {
			made.Scores = map[string][]int64{}
		}
		byNode := map[string]int64{}
		for i, node := range scores.Nodes {
			byNode[node] = scores.Final[i]
		}
		for _, node := range made.Feasible {
			made.Scores[scores.Plugin] = append(made.Scores[scores.Plugin], byNode[node])
		}
	}
	maps.DeleteFunc(made.Scores, func(_ string, of []int64) bool { return slices.Max(of) == 0 })
	return made
}

// compareUntraced compares a decision that is not traced, and tries only the nodes that are possible, with one that
// tries all.
func (s *Scheduler) compareUntraced(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.snapshot = s.cache.UpdateSnapshot(s.snapshot)
	decide := func(trace *plugins.Trace) string {
		in := s.inputOn(&queue.Attempt{Info: framework.NewPodInfo(pod), Nominated: pod.Status.NominatedNodeName})
		in.Trace = trace
		d := plugins.Decide(in)
		if d.Diagnosis != nil {
			return d.Diagnosis.Message()
		}
		return fmt.Sprint(d.Node, d.Next, d.Err)
	}
	if got, want := decide(nil), decide(&plugins.Trace{}); got != want {
		t.Errorf("pod %s: untraced %s, traced %s", pod.Name, got, want)
	}
}

// preempt runs the steps that follow a decision without a node.
func (d *decision) preempt(s *Scheduler, in plugins.Input, diagnosis *plugins.Diagnosis) {
	p, _ := s.postFilter(context.Background(), in, diagnosis)
	d.Message = diagnosis.Message()
	if p != nil {
		d.Message = strings.Replace(d.Message, "on node "+p.Node+",", "on node NODE,", 1)
	}
	for i := range in.Trace.Candidates {
		c := &in.Trace.Candidates[i]
		found := upstreamCandidate{Node: c.Node, Violations: c.Violations, Best: true}
		for j := range in.Trace.Candidates {
			other := &in.Trace.Candidates[j]
			found.Best = found.Best && (plugins.Cheapest([]plugins.Preemption{*c, *other}).Node == c.Node)
		}
		for _, v := range c.Victims {
			found.Victims = append(found.Victims, v.Pod.Namespace+"/"+v.Pod.Name)
		}
		slices.Sort(found.Victims)
		d.Candidates = append(d.Candidates, found)
	}
	slices.SortFunc(d.Candidates, func(a, b upstreamCandidate) int { return strings.Compare(a.Node, b.Node) })
}
