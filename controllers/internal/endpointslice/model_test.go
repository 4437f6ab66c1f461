package endpointslice_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	upstream "k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/endpointslice"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/difference"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/endpointslicetest"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	most         = 3
	historySteps = 120
)

// take returns the portion of a service that a reconcile reads.
type take func(records *difference.Records, service *corev1.Service, nodes int) (difference.Portion, int)

// model is a world with a service, its slices, and pods and nodes that change.
type model struct {
	*modeltest.Run
	t *rapid.T
	// portions counts the reconciles that have not read everything.
	portions int
}

// caches holds the caches that one actor reads.
type caches struct{ services, pods, nodes, slices cache.Indexer }

func newModel(t *rapid.T, mistake take) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	if mistake == nil {
		mistake = (*difference.Records).Take
	}
	m.must(m.Actor(endpointslice.Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		from := caches{a.Watch(&corev1.Service{}), a.Watch(&corev1.Pod{}), a.Watch(&corev1.Node{}), a.Watch(&discoveryv1.EndpointSlice{})}
		r, err := endpointslice.NewReconciler(endpointslice.Sources{
			Clock: m.Clock, Client: endpointslicetest.Client(a.Writer()), Recorder: &record.FakeRecorder{}, Logger: logr.Discard(), Most: most,
			Services: from.services, Pods: from.pods, Nodes: from.nodes, Slices: from.slices, Add: func(types.NamespacedName, ...int64) {},
			Take: func(records *difference.Records, service *corev1.Service, nodes int) (difference.Portion, int) {
				p, size := mistake(records, service, nodes)
				if !p.All {
					m.portions++
					m.agree(from, service, p)
				}
				return p, size
			},
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&corev1.Service{}, r.OnService)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		a.OnEvent(&corev1.Node{}, func(ev loop.Event) []types.NamespacedName {
			return append(r.OnNode(ev), types.NamespacedName{Namespace: "a", Name: "web"})
		}, r.ObserveNode)
		a.OnEvent(&discoveryv1.EndpointSlice{}, r.OnSlice, r.ObserveSlice)
		return r, nil
	}))
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// agree compares the writes of upstream's reconciler for the portion with its writes for all pods
// and slices of the caches.
func (m *model) agree(from caches, service *corev1.Service, p difference.Portion) {
	selected, err := selection.New(from.pods, from.services)
	m.must(err)
	all, err := selected.Pods("a", service.Spec.Selector)
	m.must(err)
	some, err := selected.Named("a", p.Pods, service.Spec.Selector)
	m.must(err)
	var existing []*discoveryv1.EndpointSlice
	for _, o := range from.slices.List() {
		if slice := o.(*discoveryv1.EndpointSlice); slice.Labels[discoveryv1.LabelManagedBy] == endpointslice.ManagedBy {
			existing = append(existing, slice)
		}
	}
	want := m.outcome(from, service, all, existing, existing)
	got := m.outcome(from, service, some, p.Slices, existing)
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("the portion of %v differs from all pods (-all +portion):\n%s\n%v", p.Changed, diff, m.describe(existing))
	}
}

// outcome summarizes the writes of upstream's reconciler and the slices after them. It omits which
// slice has which endpoint, because upstream leaves that to chance.
type outcome struct {
	Creates, Updates, Deletes int
	Sizes                     []int
	Endpoints                 []string
}

func (m *model) outcome(from caches, service *corev1.Service, pods []*corev1.Pod, slicesOf, existing []*discoveryv1.EndpointSlice) outcome {
	after := map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range existing {
		after[slice.Name] = slice
	}
	dry := &dryRun{slices: after}
	library := upstream.NewReconciler(endpointslicetest.Client(dry), corelisters.NewNodeLister(from.nodes), most, endpointsliceutil.NewEndpointSliceTracker(), nil,
		&record.FakeRecorder{}, endpointslice.ManagedBy, upstream.WithPreferSameTrafficDistributionEnabled(true))
	if len(pods) > 0 || len(slicesOf) > 0 || len(existing) == 0 {
		_ = library.Reconcile(logr.Discard(), service, pods, slicesOf, time.Time{}) // fails for a pod whose node is missing
	}
	for _, slice := range after {
		dry.outcome.Sizes = append(dry.outcome.Sizes, len(slice.Endpoints))
		for _, e := range slice.Endpoints {
			dry.outcome.Endpoints = append(dry.outcome.Endpoints, fmt.Sprint(e.TargetRef.Name, e.Addresses, *e.Conditions.Ready, ptr.Deref(e.Zone, ""), e.Hints != nil))
		}
	}
	slices.Sort(dry.outcome.Sizes)
	slices.Sort(dry.outcome.Endpoints)
	return dry.outcome
}

// dryRun is a Writer of slices that are nowhere else.
type dryRun struct {
	executor.Writer
	slices map[string]*discoveryv1.EndpointSlice
	outcome
}

func (d *dryRun) Get(_ context.Context, like plan.Object) (plan.Object, error) {
	return d.slices[like.GetName()], nil
}

func (d *dryRun) Create(_ context.Context, o plan.Object) (plan.Object, error) {
	d.Creates++
	o.SetName(fmt.Sprint("new-", d.Creates))
	d.slices[o.GetName()] = o.(*discoveryv1.EndpointSlice)
	return o, nil
}

func (d *dryRun) Update(_ context.Context, o plan.Object, _ string) (plan.Object, error) {
	d.Updates++
	d.slices[o.GetName()] = o.(*discoveryv1.EndpointSlice)
	return o, nil
}

func (d *dryRun) Delete(_ context.Context, o plan.Object) error {
	d.Deletes++
	delete(d.slices, o.GetName())
	return nil
}

func (m *model) describe(all []*discoveryv1.EndpointSlice) string {
	text := ""
	for _, slice := range all {
		text += slice.Name + ":"
		for _, e := range slice.Endpoints {
			text += fmt.Sprint(" ", e.TargetRef.Name, e.Addresses)
		}
		text += "\n"
	}
	return text
}

// pods creates, changes or deletes a pod.
func (m *model) pods(draw modeltest.Draw) bool {
	name := fmt.Sprint("p", draw(14, "pod"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = fmt.Sprint("n", draw(3, "node"))
	port := int32(80 + draw(4, "port")/3)
	pod.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}}}}
	current, err := m.World.Get(m.t.Context(), pod)
	if err != nil {
		current, err = m.World.Create(m.t.Context(), pod)
		m.must(err)
		m.start(current, draw)
		return true
	}
	switch draw(6, "change of the pod") {
	case 0:
		m.must(m.World.Delete(m.t.Context(), current))
	case 1:
		m.World.Change(current, func(o plan.Object) {
			o.SetLabels(map[string]string{"app": []string{"web", "db"}[draw(2, "label")]})
		})
	case 2:
		m.start(current, draw)
	default:
		m.World.Change(current, func(o plan.Object) {
			ready := &o.(*corev1.Pod).Status.Conditions[0]
			ready.Status = map[corev1.ConditionStatus]corev1.ConditionStatus{"True": "False", "False": "True"}[ready.Status]
			ready.LastTransitionTime = metav1.NewTime(m.Clock.Now())
		})
	}
	return true
}

func (m *model) start(pod plan.Object, draw modeltest.Draw) {
	m.World.Change(pod, func(o plan.Object) {
		status := &o.(*corev1.Pod).Status
		status.Phase = corev1.PodRunning
		status.PodIPs = []corev1.PodIP{{IP: fmt.Sprint("10.0.0.", 1+draw(200, "address"))}}
		status.PodIP = status.PodIPs[0].IP
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(m.Clock.Now())}}
	})
}

// others changes the service, a node, or a slice.
func (m *model) others(draw modeltest.Draw) bool {
	switch draw(4, "other change") {
	case 0:
		m.World.Change(m.service(), func(o plan.Object) {
			s := o.(*corev1.Service)
			s.Labels = map[string]string{"l": fmt.Sprint(draw(3, "label"))}
			s.Spec.TrafficDistribution = []*string{nil, ptr.To(corev1.ServiceTrafficDistributionPreferClose)}[draw(2, "distribution")]
		})
	case 1:
		nodes := modeltest.List[*corev1.Node](m.World)
		m.World.Change(nodes[draw(len(nodes), "node")], func(o plan.Object) {
			o.SetLabels(map[string]string{corev1.LabelTopologyZone: fmt.Sprint("z", draw(2, "zone"))})
		})
	default:
		all := modeltest.List[*discoveryv1.EndpointSlice](m.World)
		if len(all) == 0 {
			return false
		}
		slice := all[draw(len(all), "slice")]
		if draw(2, "deleted") == 0 {
			m.must(m.World.Delete(m.t.Context(), slice))
			return true
		}
		m.World.Change(slice, func(o plan.Object) {
			s := o.(*discoveryv1.EndpointSlice)
			s.Endpoints = s.Endpoints[:draw(len(s.Endpoints)+1, "endpoints")]
		})
	}
	return true
}

func (m *model) service() *corev1.Service { return modeltest.List[*corev1.Service](m.World)[0] }

// converged checks that the slices have exactly the endpoints of the pods.
func (m *model) converged() {
	from := caches{}
	for _, into := range []*cache.Indexer{&from.services, &from.pods, &from.nodes, &from.slices} {
		*into = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	selected, err := selection.New(from.pods, from.services)
	m.must(err)
	for _, pod := range modeltest.List[*corev1.Pod](m.World) {
		m.must(from.pods.Add(pod))
	}
	for _, node := range modeltest.List[*corev1.Node](m.World) {
		m.must(from.nodes.Add(node))
	}
	service, existing := m.service(), modeltest.List[*discoveryv1.EndpointSlice](m.World)
	all, err := selected.Pods("a", service.Spec.Selector)
	m.must(err)
	if o := m.outcome(from, service, all, existing, existing); o.Creates+o.Updates+o.Deletes > 0 {
		m.t.Fatalf("a reconcile from scratch still writes: %+v\n%s", o, m.describe(existing))
	}
}

func portionsAgree(t *rapid.T, mistake take) int {
	m := newModel(t, mistake)
	_, err := m.World.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.1.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}},
		},
	})
	m.must(err)
	for i := range 3 {
		_, err := m.World.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		m.must(err)
	}
	m.Crashes = true
	m.Other(m.pods)
	m.Other(m.pods)
	m.Other(func(draw modeltest.Draw) bool { return draw(8, "others") == 0 && m.others(draw) })
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(5000, time.Hour))
	m.converged()
	return m.portions
}

// TestPortionsAgree checks, before every reconcile that reads a portion, that a reconcile of all
// pods and slices would make the same writes, and that in the end nothing is left to write.
func TestPortionsAgree(t *testing.T) {
	portions := 0
	rapid.Check(t, func(t *rapid.T) { portions += portionsAgree(t, nil) })
	if portions == 0 {
		t.Error("no reconcile has read a portion")
	}
}

// TestPlantedMistakesAreSeen checks that the property detects portions that lack something.
func TestPlantedMistakesAreSeen(t *testing.T) {
	lacking := func(change func(p *difference.Portion)) take {
		return func(records *difference.Records, service *corev1.Service, nodes int) (difference.Portion, int) {
			p, size := records.Take(service, nodes)
			if !p.All {
				change(&p)
			}
			return p, size
		}
	}
	for name, mistake := range map[string]take{
		"the pods that changed alone": lacking(func(p *difference.Portion) { p.Pods = p.Changed }),
		"one slice is left out": lacking(func(p *difference.Portion) {
			if len(p.Slices) > 1 {
				p.Slices = p.Slices[1:]
			}
		}),
		"one change is lost": lacking(func(p *difference.Portion) {
			if len(p.Changed) > 0 {
				p.Changed, p.Pods, p.Slices = nil, nil, nil
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, "differs from all pods", func(t *rapid.T) { portionsAgree(t, mistake) })
		})
	}
}
