package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

const (
	devicesOnNode  = 3
	deviceHistory  = 60
	stepsPerWrite  = 3
	sharedClaims   = 4
	deviceNodes    = 2
	refusedOneIn   = 6
	deallocatedGap = 3
)

// deviceWorld is an API server with resource claims, and a scheduler whose informer is behind it:
// first the informer's cache, then the handlers get the written objects. Other steps run between
// any two writes of a binding.
type deviceWorld struct {
	t         *rapid.T
	scheduler *Scheduler
	indexer   cache.Indexer
	snapshot  *framework.Snapshot

	version int
	api     map[string]*resourcev1.ResourceClaim
	// writes have not reached the informer's cache, events have not reached the handlers.
	writes, events []deviceEvent
	pods           map[string]*corev1.Pod
	// placed are the pods with a node that are not bound yet, binding is the one being bound.
	placed  []*corev1.Pod
	binding *corev1.Pod
	depth   int
	mistake deviceMistake
}

// deviceMistake changes the account of devices after each binding, or during each decision.
type deviceMistake struct {
	bound    func(d *devices)
	deciding func(d *devices) (restore func())
}

type deviceEvent struct{ old, now *resourcev1.ResourceClaim }

func newDeviceWorld(t *rapid.T, mistake deviceMistake) *deviceWorld {
	client := fake.NewClientset()
	kinds := informers.KindsOf(client, nil)
	w := &deviceWorld{t: t, api: map[string]*resourcev1.ResourceClaim{}, pods: map[string]*corev1.Pod{}, mistake: mistake}
	w.indexer = kinds.ResourceClaims().Informer().GetIndexer()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")}}
	w.must(kinds.DeviceClasses().Informer().GetIndexer().Add(class))
	var nodes []*corev1.Node
	var published []*resourcev1.ResourceSlice
	for n := range deviceNodes {
		node := st.Node(fmt.Sprintf("n%d", n))
		nodes = append(nodes, node)
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node.Name, Pool: resourcev1.ResourcePool{Name: node.Name, ResourceSliceCount: 1},
		}}
		for i := range devicesOnNode {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
		}
		published = append(published, slice)
	}
	w.snapshot = framework.SnapshotOf(nodes, nil)
	real := clock.Real()
	account, err := newDevices(kinds, real, klog.Background())
	w.must(err)
	account.backing.OnAdd(class, true)
	for _, slice := range published {
		account.setSlice(slice, false)
	}
	w.scheduler = &Scheduler{client: client, clock: real, devices: account, metrics: newMetrics(&env.Env{})}
	w.scheduler.queue = queue.New(real, nil, queue.Options{
		Name: "model", Hint: func(queue.Waiting, framework.ClusterEvent) bool { return false }, Ready: w.scheduler.devices.ready,
	})
	client.PrependReactor("*", "resourceclaims", w.react)
	client.PrependReactor("patch", "pods", w.reactToPod)
	return w
}

func (w *deviceWorld) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *deviceWorld) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(w.t, label) }

// react is the API server. Other steps come before each request.
func (w *deviceWorld) react(action clienttesting.Action) (bool, runtime.Object, error) {
	if w.depth == 1 { // within a binding
		w.depth++
		for range w.draw(stepsPerWrite, "meanwhile") {
			w.step()
		}
		w.depth--
	}
	switch action.GetVerb() {
	case "get", "patch": // reservations are dropped by the controller
		name := action.(clienttesting.GetAction).GetName()
		if claim := w.api[name]; claim != nil {
			return true, claim.DeepCopy(), nil
		}
		return true, nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
	case "delete":
		return true, nil, w.reactToDelete(action.(clienttesting.DeleteAction).GetName())
	case "create":
		claim := action.(clienttesting.CreateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		claim.Name = fmt.Sprint(claim.GenerateName, w.version)
		claim.UID = types.UID("uid-" + claim.Name)
		return true, w.write(claim).DeepCopy(), nil
	}
	claim, err := w.reactToUpdate(action.(clienttesting.UpdateAction))
	return true, claim, err
}

func (w *deviceWorld) reactToUpdate(a clienttesting.UpdateAction) (*resourcev1.ResourceClaim, error) {
	gr, claim := resourcev1.Resource("resourceclaims"), a.GetObject().(*resourcev1.ResourceClaim).DeepCopy()
	known := w.api[claim.Name]
	switch {
	case known == nil:
		return nil, apierrors.NewNotFound(gr, claim.Name)
	case known.ResourceVersion != claim.ResourceVersion:
		return nil, apierrors.NewConflict(gr, claim.Name, nil)
	case w.draw(refusedOneIn, "refused") == 0:
		return nil, apierrors.NewInternalError(fmt.Errorf("refused"))
	}
	written := known.DeepCopy()
	if a.GetSubresource() == "status" {
		written.Status = claim.Status
	} else {
		written.Finalizers = claim.Finalizers
	}
	return w.write(written).DeepCopy(), nil
}

func (w *deviceWorld) reactToDelete(name string) error {
	claim := w.api[name]
	switch {
	case claim == nil:
		return apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
	case w.draw(refusedOneIn, "refused") == 0:
		return apierrors.NewInternalError(fmt.Errorf("refused"))
	case slices.Contains(claim.Finalizers, resourcev1.Finalizer):
		w.t.Fatalf("claim %s is deleted before its finalizer is removed", name)
	}
	w.remove(claim)
	return nil
}

// reactToPod writes the name of a claim into a pod's status, or refuses that.
func (w *deviceWorld) reactToPod(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.(clienttesting.PatchAction).GetName()
	if w.pods[name] == nil {
		return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	if w.draw(refusedOneIn, "refused") == 0 {
		return true, nil, apierrors.NewInternalError(fmt.Errorf("refused"))
	}
	return true, w.pods[name], nil
}

// remove deletes a claim.
func (w *deviceWorld) remove(claim *resourcev1.ResourceClaim) {
	w.version++
	w.writes = append(w.writes, deviceEvent{old: claim})
	delete(w.api, claim.Name)
}

// write stores a claim and checks that no device is allocated twice.
func (w *deviceWorld) write(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	w.version++
	claim.ResourceVersion = strconv.Itoa(w.version)
	w.writes = append(w.writes, deviceEvent{w.api[claim.Name], claim})
	w.api[claim.Name] = claim
	holders := map[string]string{}
	for _, c := range w.api {
		if c.Status.Allocation == nil {
			continue
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			id := r.Pool + "/" + r.Device
			if other := holders[id]; other != "" {
				w.t.Fatalf("device %s is allocated twice, to %s and to %s", id, other, c.Name)
			}
			holders[id] = c.Name
		}
	}
	return claim
}

func (w *deviceWorld) step() {
	switch w.draw(10, "step") {
	case 0, 1:
		w.createPod()
	case 2, 3, 4:
		w.decide()
	case 5:
		w.showCache()
	case 6:
		w.showHandlers()
	case 7:
		w.release()
	case 8:
		w.deletePod()
	case 9:
		w.bind()
	}
}

// createPod creates a pod with one or two claims, which other pods may share, or with an extended resource.
func (w *deviceWorld) createPod() {
	name := fmt.Sprintf("p%d", len(w.pods))
	pod := st.Pod(name)
	if w.draw(3, "extended") == 0 {
		w.pods[name] = st.Pod(name, st.Requests("example.com/gpu", fmt.Sprint(1+w.draw(2, "count"))))
		return
	}
	for i := range 1 + w.draw(2, "claims") {
		claim := fmt.Sprintf("c%d", w.draw(sharedClaims, "claim"))
		if w.draw(2, "shared") == 0 {
			claim = fmt.Sprintf("%s-%d", name, i)
		}
		if w.api[claim] == nil {
			w.version++
			c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim, UID: types.UID(fmt.Sprint(claim, "-", w.version))}}
			c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + w.draw(2, "count")),
			}}}
			w.write(c)
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint(i), ResourceClaimName: ptr.To(claim)})
	}
	w.pods[name] = pod
}

// decide decides on a pod without a node.
func (w *deviceWorld) decide() {
	var pending []*corev1.Pod
	for _, pod := range w.pods {
		if pod != nil && pod != w.binding && !slices.Contains(w.placed, pod) && pod.Spec.NodeName == "" {
			pending = append(pending, pod)
		}
	}
	if len(pending) == 0 {
		return
	}
	slices.SortFunc(pending, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	pod := pending[w.draw(len(pending), "pod")]
	info := framework.NewPodInfo(pod)
	in := w.scheduler.devices.input(info, time.Minute, time.Minute)
	restore := func() {}
	if w.mistake.deciding != nil {
		restore = w.mistake.deciding(w.scheduler.devices)
	}
	d := plugins.Decide(plugins.Input{Pod: info, Snapshot: w.snapshot, Devices: in, Pick: func(int) int { return 0 }})
	restore()
	w.must(d.Err)
	w.checkInventory()
	if d.Node == "" {
		if d.Diagnosis.Message() == "" {
			w.t.Fatal("no reason")
		}
		if in.Extended != nil && in.Extended.Left != nil && w.depth == 0 {
			w.scheduler.deleteExtended(context.Background(), in.Extended.Left)
		}
		return
	}
	w.scheduler.devices.reserve(pod.UID, in.On(d.Node))
	w.placed = append(w.placed, pod)
}

// checkInventory compares the counts of the inventory with the claims and the decisions.
func (w *deviceWorld) checkInventory() {
	d := w.scheduler.devices
	known := d.upToDate()
	taken := map[string]bool{}
	take := func(allocation *resourcev1.AllocationResult) {
		if allocation != nil {
			for _, r := range allocation.Devices.Results {
				taken[r.Pool+"/"+r.Device] = true
			}
		}
	}
	for _, wait := range d.byPod {
		for _, a := range wait.claims {
			take(a.Result)
		}
	}
	for uid, claim := range d.written {
		if d.pending[uid] == nil {
			take(claim.Status.Allocation)
		}
	}
	for uid, claim := range d.shown {
		if d.pending[uid] == nil && d.written[uid] == nil {
			take(claim.Status.Allocation)
		}
	}
	for n := range deviceNodes {
		for i := range devicesOnNode {
			pool, device := fmt.Sprintf("n%d", n), fmt.Sprintf("gpu-%d", i)
			if got, want := known.IsAllocated("gpu.example.com", pool, device), taken[pool+"/"+device]; got != want {
				w.t.Fatalf("device %s of %s counts as allocated: %t, and is: %t", device, pool, got, want)
			}
		}
	}
}

// bind writes the claims of a pod with a node.
func (w *deviceWorld) bind() {
	if len(w.placed) == 0 || w.depth > 0 {
		return
	}
	i := w.draw(len(w.placed), "placed")
	pod := w.placed[i]
	w.placed = slices.Delete(slices.Clone(w.placed), i, i+1)
	w.depth++
	w.binding = pod
	defer func() { w.depth--; w.binding = nil }()
	ctx := context.Background()
	if err := w.scheduler.bindDevices(ctx, pod); err != nil {
		w.scheduler.unreserveDevices(ctx, pod)
	} else {
		pod.Spec.NodeName = "bound"
	}
	if w.mistake.bound != nil {
		w.mistake.bound(w.scheduler.devices)
	}
}

// showCache brings the informer's cache one write further, showHandlers its handlers.
func (w *deviceWorld) showCache() {
	if len(w.writes) == 0 {
		return
	}
	ev := w.writes[0]
	w.writes = w.writes[1:]
	if ev.now == nil {
		w.must(w.indexer.Delete(ev.old))
	} else {
		w.must(w.indexer.Update(ev.now))
	}
	w.events = append(w.events, ev)
}

func (w *deviceWorld) showHandlers() {
	if len(w.events) == 0 {
		return
	}
	ev := w.events[0]
	w.events = w.events[1:]
	if ev.now == nil {
		w.scheduler.devices.remove(ev.old)
		return
	}
	w.scheduler.devices.set(ev.old, ev.now)
}

// release is the resourceclaim-controller: it frees a claim that no pod needs.
func (w *deviceWorld) release() {
	for _, name := range sortedKeys(w.api) {
		claim := w.api[name]
		if claim.Status.Allocation == nil {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(r resourcev1.ResourceClaimConsumerReference) bool {
			pod := w.pods[r.Name]
			return pod == nil
		})
		if len(kept) == 0 && w.draw(deallocatedGap, "release") == 0 {
			freed := claim.DeepCopy()
			freed.Status.ReservedFor, freed.Status.Allocation = nil, nil
			freed.Finalizers = nil
			w.write(freed)
			if freed.GenerateName != "" { // for the extended resources of a pod
				w.remove(freed)
			}
		}
	}
}

func (w *deviceWorld) deletePod() {
	if len(w.pods) == 0 {
		return
	}
	names := sortedKeys(w.pods)
	name := names[w.draw(len(names), "deleted")]
	if pod := w.pods[name]; pod != nil {
		w.pods[name] = nil
		w.scheduler.devices.forget(pod.UID)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func runDevices(mistake deviceMistake) func(t *rapid.T) {
	return func(t *rapid.T) {
		w := newDeviceWorld(t, mistake)
		defer w.scheduler.queue.Close()
		for range deviceHistory {
			w.step()
		}
	}
}

// TestNoDeviceIsAllocatedTwice checks every write of histories of pods and claims.
func TestNoDeviceIsAllocatedTwice(t *testing.T) {
	rapid.Check(t, runDevices(deviceMistake{}))
}

func TestPlantedDeviceMistakes(t *testing.T) {
	t.Run("ends of allocations are not noted", func(t *testing.T) {
		modeltest.MustBreak(t, "counts as allocated", runDevices(deviceMistake{bound: func(d *devices) { clear(d.changed.counted) }}))
	})
	for name, mistaken := range map[string]deviceMistake{
		"what was written is forgotten": {bound: func(d *devices) {
			written := d.written
			d.written = map[types.UID]*resourcev1.ResourceClaim{}
			for uid := range written {
				d.countLocked(uid)
			}
		}},
		"decisions do not see what is pending": {deciding: func(d *devices) func() {
			hidden := d.pending
			count := func() {
				for uid := range hidden {
					d.countLocked(uid)
				}
			}
			d.pending = map[types.UID]*deviceWait{}
			count()
			return func() { d.pending = hidden; count() }
		}},
	} {
		t.Run(name, func(t *testing.T) { modeltest.MustBreak(t, "is allocated twice", runDevices(mistaken)) })
	}
}

// More changes than are kept between two decisions are counted again.
func TestManyDeviceChanges(t *testing.T) {
	d, err := newDevices(informers.KindsOf(fake.NewClientset(), nil), clock.Real(), klog.Background())
	if err != nil {
		t.Fatal(err)
	}
	claim := func(i int) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: "1"},
			Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
				Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "gpu.example.com", Pool: "p", Device: fmt.Sprint("gpu-", i)}},
			}}},
		}
	}
	allocated := func(i int) bool { return d.upToDate().IsAllocated("gpu.example.com", "p", fmt.Sprint("gpu-", i)) }
	d.set(nil, claim(0))
	if !allocated(0) {
		t.Error("a device is not allocated")
	}
	d.remove(claim(0))
	for i := range maxDeviceChanges + 10 {
		d.set(nil, claim(1+i))
	}
	if !d.changed.uncounted || len(d.changed.allocations) > 0 {
		t.Errorf("%d changes are kept", len(d.changed.allocations))
	}
	if allocated(0) || !allocated(1) || !allocated(maxDeviceChanges+10) {
		t.Error("the changes are not counted again")
	}
	d.remove(claim(1))
	if allocated(1) || !allocated(2) {
		t.Error("the changes after that are not counted")
	}
}
