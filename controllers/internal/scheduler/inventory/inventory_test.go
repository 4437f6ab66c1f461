package inventory

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

const (
	driver   = "gpu.example.com"
	steps    = 40
	maxNodes = 4
)

type classes map[string]*resourcev1.DeviceClass

func (c classes) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }

func (c classes) Get(name string) (*resourcev1.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, fmt.Errorf("no class %s", name)
}

// world has an Inventory and its inputs. Its model is an Inventory that is made from scratch for each search.
type world struct {
	t     *rapid.T
	known *Inventory

	config Config
	nodes  []*corev1.Node
	slices map[string]*resourcev1.ResourceSlice
	rules  []*resourcev1.DeviceTaintRule
	held   []*resourcev1.AllocationResult
	// answered counts the searches whose answer was known.
	answered int
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, slices: map[string]*resourcev1.ResourceSlice{}}
	compiled := cel.NewCache(1, cel.Features{EnableConsumableCapacity: true})
	w.config = Config{
		Features: structured.Features{
			AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
		},
		Classes:   classes{"gpu": {ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}},
		Selectors: func() *cel.Cache { return compiled },
	}
	for n := range maxNodes {
		w.nodes = append(w.nodes, st.Node(fmt.Sprint("n", n), st.NodeLabel("kind", fmt.Sprint(n%2))))
	}
	w.known = New(w.config)
	return w
}

func (w *world) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

func (w *world) step() {
	switch w.draw(10, "step") {
	case 0, 1:
		w.publish()
	case 2:
		name := fmt.Sprint("s", w.draw(6, "slice"))
		delete(w.slices, name)
		w.known.SetSlice(name, nil)
	case 3:
		w.taint()
	case 4:
		w.relabel()
	case 5:
		w.release()
	default:
		w.search()
	}
}

// publish publishes a slice of a pool: for one node, for all nodes, for the nodes with a label, or with a node for
// each device. Pools may be incomplete.
func (w *world) publish() {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", w.draw(6, "slice"))}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, Pool: resourcev1.ResourcePool{
			Name: fmt.Sprint("p", w.draw(4, "pool")), ResourceSliceCount: int64(1 + w.draw(2, "count")), Generation: int64(w.draw(2, "generation")),
		},
	}}
	node := &w.nodes[w.draw(maxNodes, "node")].Name
	switch w.draw(8, "for") {
	case 0:
		slice.Spec.AllNodes = ptr.To(true)
	case 1:
		slice.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: "kind", Operator: corev1.NodeSelectorOpIn, Values: []string{"1"},
		}}}}}
	case 2:
		slice.Spec.PerDeviceNodeSelection = ptr.To(true)
	default:
		slice.Spec.NodeName = node
	}
	for i := range 1 + w.draw(3, "devices") {
		device := resourcev1.Device{Name: fmt.Sprint(slice.Name, "-", i)}
		if slice.Spec.PerDeviceNodeSelection != nil {
			device.NodeName = node
		}
		if w.draw(3, "shared") == 0 {
			device.AllowMultipleAllocations = ptr.To(true)
			device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("4Gi")}}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	w.slices[slice.Name] = slice
	w.known.SetSlice(slice.Name, slice)
}

func (w *world) taint() {
	w.rules = nil
	for i := range w.draw(2, "rules") {
		w.rules = append(w.rules, &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i)}, Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: ptr.To(fmt.Sprint("p", w.draw(4, "tainted")))},
			Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		}})
	}
	w.known.SetRules(slices.Clone(w.rules))
}

func (w *world) relabel() {
	i := w.draw(maxNodes, "relabelled")
	w.nodes[i] = st.Node(w.nodes[i].Name, st.NodeLabel("kind", fmt.Sprint(w.draw(2, "kind"))))
}

func (w *world) release() {
	if len(w.held) == 0 {
		return
	}
	i := w.draw(len(w.held), "released")
	w.known.Replace(w.held[i], nil)
	w.held = slices.Delete(w.held, i, i+1)
}

// claim asks for devices: one or two, an administrator's, all, or a part of one.
func (w *world) claim() *resourcev1.ResourceClaim {
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
	switch w.draw(5, "request") {
	case 0:
		exactly.Count = 2
	case 1:
		exactly.AdminAccess = ptr.To(true)
	case 2:
		exactly.AllocationMode, exactly.Count = resourcev1.DeviceAllocationModeAll, 0
	case 3:
		exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1Gi")}}
	}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", w.draw(1000, "name"))},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: exactly}}}},
	}
}

// search compares an answer with the model's, and may allocate the devices that it has found.
func (w *world) search() {
	model := New(w.config)
	for name, slice := range w.slices {
		model.SetSlice(name, slice)
	}
	model.SetRules(slices.Clone(w.rules))
	for _, allocation := range w.held {
		model.Replace(nil, allocation)
	}
	if !equality.Semantic.DeepEqual(model.state, w.known.state) {
		w.t.Fatalf("the state is %v, want %v", w.known.state, model.state)
	}
	w.comparePublished(model)
	node, claims := w.nodes[w.draw(maxNodes, "on")], []*resourcev1.ResourceClaim{w.claim()}
	want, wantErr := model.Allocate(context.Background(), node, claims)
	request, err := RequestOf(claims)
	if err != nil {
		w.t.Fatal(err)
	}
	got, why, ok := w.known.Known(request, node)
	if ok {
		w.answered++
	} else {
		var err error
		if got, err = w.known.Allocate(context.Background(), node, claims); err == nil {
			w.known.Keep(request, node, got, "")
		}
		if (err == nil) != (wantErr == nil) {
			w.t.Fatalf("error %v, want %v", err, wantErr)
		}
	}
	if why != "" || !equality.Semantic.DeepEqual(withoutShares(got), withoutShares(want)) {
		w.t.Fatalf("known %t: %+v, want %+v", ok, got, want)
	}
	if len(got) > 0 && w.draw(2, "take") == 0 {
		w.held = append(w.held, &got[0])
		w.known.Replace(nil, &got[0])
	}
}

// comparePublished checks that nodes without devices are left out only if no slice may be for them.
func (w *world) comparePublished(model *Inventory) {
	snapshot := framework.SnapshotOf(w.nodes, nil)
	if got, want := w.known.Published(snapshot), model.Published(snapshot); !reflect.DeepEqual(got, want) {
		w.t.Fatalf("published for %v, want %v", got, want)
	}
	for _, node := range w.nodes {
		if got, want := w.known.On(node.Name), model.On(node.Name); !equality.Semantic.DeepEqual(got, want) {
			w.t.Fatalf("on %s: %v, want %v", node.Name, got, want)
		}
	}
}

// withoutShares leaves out the IDs of shares, which are random.
func withoutShares(results []resourcev1.AllocationResult) []resourcev1.AllocationResult {
	var all []resourcev1.AllocationResult
	for i := range results {
		result := results[i].DeepCopy()
		for k := range result.Devices.Results {
			if result.Devices.Results[k].ShareID != nil {
				result.Devices.Results[k].ShareID = ptr.To(types.UID("share"))
			}
		}
		all = append(all, *result)
	}
	return all
}

// TestModel compares an Inventory with one that is made from scratch for each search.
func TestModel(t *testing.T) {
	answered := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range steps {
			w.step()
		}
		answered += w.answered
	})
	if answered == 0 {
		t.Error("no answer was known")
	}
}

// TestRoom checks that a bounded number of answers is kept, for the most recently used requests.
func TestRoom(t *testing.T) {
	i := New(Config{})
	node := st.Node("n")
	for k := range 3 * maxAnswers / 2 {
		i.Known("first", node)
		other := st.Node(fmt.Sprint(k))
		request := Request(fmt.Sprint("request ", k%2))
		i.Known(request, other)
		i.Keep(request, other, nil, "")
		if k == 0 {
			i.Keep("first", node, nil, "why")
		}
	}
	n := 0
	for _, of := range i.found.byRequest {
		n += len(of.byNode)
	}
	if n > maxAnswers || n != i.found.n {
		t.Errorf("%d answers, counted %d", n, i.found.n)
	}
	if _, why, ok := i.Known("first", node); !ok || why != "why" {
		t.Error("the answer that is asked for most is dropped")
	}
}
