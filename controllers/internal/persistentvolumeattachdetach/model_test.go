package persistentvolumeattachdetach

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/csivolume"
	"minikcm.dev/minikcm/internal/loop"
)

const (
	historySteps = 150
	modelVolumes = 2
	modelNodes   = 2
)

// model is a world with volumes that may be attached to one node each, nodes with kubelets, an
// attacher, and a user whose pods move from node to node.
type model struct {
	*modeltest.Run
	t *rapid.T
	// mounted are the nodes that have mounted a volume, by volume.
	mounted map[string]map[string]bool
	// lost are the nodes whose kubelets do nothing.
	lost map[string]bool
}

// worldAPI is the api of an actor.
type worldAPI struct{ w executor.Writer }

func (a worldAPI) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return typed[*corev1.Node](a.w.Get(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func (a worldAPI) PatchNodeStatus(ctx context.Context, name string, patch []byte) (*corev1.Node, error) {
	return typed[*corev1.Node](a.w.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch))
}

func (a worldAPI) Create(ctx context.Context, attachment *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, error) {
	return typed[*storagev1.VolumeAttachment](a.w.Create(ctx, attachment))
}

func (a worldAPI) Delete(ctx context.Context, attachment *storagev1.VolumeAttachment) error {
	return a.w.Delete(ctx, attachment)
}

func typed[T plan.Object](o plan.Object, err error) (T, error) {
	t, _ := o.(T)
	return t, err
}

// mistake changes the controller.
type mistake func(c *Controller)

// noPods is a bynode index that finds no pods: no node of the model becomes managed later.
type noPods struct{}

func (noPods) On(string) []*corev1.Pod { return nil }

func newModel(t *rapid.T, mistaken mistake) *model {
	m := &model{
		Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t,
		mounted: map[string]map[string]bool{}, lost: map[string]bool{},
	}
	m.World.Graceful = func(o plan.Object) bool { return len(o.GetFinalizers()) > 0 }
	m.furnish()
	m.World.AfterWrite = m.check
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		c, err := newController(worldAPI{a.Writer()}, &record.FakeRecorder{}, m.Clock, noPods{}, caches{
			volumes: a.Watch(&corev1.PersistentVolume{}), claims: a.Watch(&corev1.PersistentVolumeClaim{}), pods: a.Watch(&corev1.Pod{}),
			attachments: a.Watch(&storagev1.VolumeAttachment{}), nodes: a.Watch(&corev1.Node{}), drivers: a.Watch(&storagev1.CSIDriver{}),
		})
		if err != nil {
			return nil, err
		}
		mistaken(c)
		a.OnEvent(&corev1.PersistentVolume{}, c.onVolume)
		a.OnEvent(&corev1.PersistentVolumeClaim{}, c.onClaim)
		a.OnEvent(&corev1.Pod{}, c.onPod)
		a.OnEvent(&storagev1.VolumeAttachment{}, c.onAttachment, c.seeAttachment)
		a.OnEvent(&corev1.Node{}, c.onNode)
		return c, nil
	}))
	m.Other(m.attacher)
	m.Other(func(draw modeltest.Draw) bool { return m.kubelet(nodeName(draw(modelNodes, "kubelet"))) })
	m.Other(m.user)
	return m
}

func volumeName(i int) string { return fmt.Sprint("v", i) }
func nodeName(i int) string   { return fmt.Sprint("n", i) }

// furnish creates the nodes, and volumes that are bound to claims of the same names.
func (m *model) furnish() {
	for i := range modelNodes {
		m.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}})
		m.ready(nodeName(i), true)
	}
	for i := range modelVolumes {
		name := volumeName(i)
		claim := m.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}})
		m.World.Change(claim, func(o plan.Object) { o.(*corev1.PersistentVolumeClaim).Status.Phase = corev1.ClaimBound })
		m.create(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ClaimRef: &corev1.ObjectReference{Namespace: "a", Name: name, UID: claim.GetUID()},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: name}},
		}})
	}
}

func (m *model) create(o plan.Object) plan.Object {
	made, err := m.World.Create(m.t.Context(), o)
	m.must(err)
	return made
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) node(name string) *corev1.Node {
	node, err := typed[*corev1.Node](m.World.Get(m.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	m.must(err)
	return node
}

func (m *model) ready(name string, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	m.World.Change(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(o plan.Object) {
		o.(*corev1.Node).Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	})
}

// attachment returns the attachment of a volume to a node; nil: there is none.
func (m *model) attachment(volume, node string) *storagev1.VolumeAttachment {
	name := csivolume.AttachmentName(&corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: volume}, node)
	a, err := typed[*storagev1.VolumeAttachment](m.World.Get(m.t.Context(), &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	if err != nil {
		return nil
	}
	return a
}

func unique(volume string) corev1.UniqueVolumeName {
	return csivolume.UniqueName(&corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: volume})
}

// check fails if a volume has attachments to two nodes, or is mounted by a kubelet that acts on a
// node that it is not attached to.
func (m *model) check() {
	of := map[string]string{}
	modeltest.Each(m.World, func(a *storagev1.VolumeAttachment) {
		volume := *a.Spec.Source.PersistentVolumeName
		if other, taken := of[volume]; taken {
			m.t.Fatalf("volume %s is attached to %s and to %s", volume, other, a.Spec.NodeName)
		}
		of[volume] = a.Spec.NodeName
	})
	for volume, nodes := range m.mounted {
		for node, mounted := range nodes {
			if !mounted || m.lost[node] {
				continue
			}
			if a := m.attachment(volume, node); a == nil || a.DeletionTimestamp != nil || !a.Status.Attached {
				m.t.Fatalf("volume %s is mounted on %s and not attached to it", volume, node)
			}
		}
	}
}

// attacher attaches and detaches one of the volumes.
func (m *model) attacher(draw modeltest.Draw) bool {
	all := modeltest.List[*storagev1.VolumeAttachment](m.World)
	if len(all) == 0 {
		return false
	}
	return m.serve(all[draw(len(all), "attachment")])
}

func (m *model) serve(a *storagev1.VolumeAttachment) bool {
	switch {
	case a.DeletionTimestamp != nil:
		m.World.Remove(a)
	case len(a.Finalizers) == 0:
		m.World.Change(a, func(o plan.Object) { o.SetFinalizers([]string{"attacher"}) })
	case !a.Status.Attached:
		m.World.Change(a, func(o plan.Object) { o.(*storagev1.VolumeAttachment).Status.Attached = true })
	default:
		return false
	}
	return true
}

// kubelet mounts and unmounts the volumes of the pods on its node as far as it may, and then says
// which it has in use.
func (m *model) kubelet(name string) bool {
	if m.lost[name] {
		return false
	}
	node := m.node(name)
	var inUse []corev1.UniqueVolumeName
	for i := range modelVolumes {
		volume := volumeName(i)
		wanted := slices.ContainsFunc(modeltest.List[*corev1.Pod](m.World), func(p *corev1.Pod) bool {
			return p.Spec.NodeName == name && p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == volume
		})
		if m.mounted[volume] == nil {
			m.mounted[volume] = map[string]bool{}
		}
		attached := slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == unique(volume) })
		m.mounted[volume][name] = wanted && (m.mounted[volume][name] || attached && slices.Contains(node.Status.VolumesInUse, unique(volume)))
		if wanted {
			inUse = append(inUse, unique(volume))
		}
	}
	m.check()
	if slices.Equal(inUse, node.Status.VolumesInUse) {
		return false
	}
	m.World.Change(node, func(o plan.Object) { o.(*corev1.Node).Status.VolumesInUse = inUse })
	return true
}

// user creates pods on nodes, deletes them, and takes kubelets away and gives them back.
func (m *model) user(draw modeltest.Draw) bool {
	node := nodeName(draw(modelNodes, "node"))
	switch draw(8, "user") {
	case 0, 1, 2:
		m.pod(draw(3, "pod"), volumeName(draw(modelVolumes, "volume")), node)
	case 3, 4, 5:
		if pods := modeltest.List[*corev1.Pod](m.World); len(pods) > 0 {
			m.must(m.World.Delete(m.t.Context(), pods[draw(len(pods), "which")]))
		}
	case 6:
		m.lose(node)
	case 7:
		m.restart(node)
	}
	return true
}

func (m *model) pod(i int, claim, node string) {
	_, _ = m.World.Create(m.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", i)}, Spec: corev1.PodSpec{
		NodeName: node, Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
	}}) // it may exist
}

func (m *model) lose(node string) {
	m.lost[node] = true
	m.ready(node, false)
}

// restart boots a node again: it has nothing mounted.
func (m *model) restart(node string) {
	if !m.lost[node] {
		return
	}
	for _, nodes := range m.mounted {
		nodes[node] = false
	}
	delete(m.lost, node)
	m.ready(node, true)
}

// rightInTheEnd checks that a volume is attached to the node of its pods, and to no other.
func (m *model) rightInTheEnd() {
	for i := range modelVolumes {
		volume := volumeName(i)
		on := map[string]bool{}
		for _, pod := range modeltest.List[*corev1.Pod](m.World) {
			if pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == volume {
				on[pod.Spec.NodeName] = true
			}
		}
		attached := 0
		for i := range modelNodes {
			node := m.node(nodeName(i))
			a := m.attachment(volume, node.Name)
			reported := slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == unique(volume) })
			if is := a != nil && a.Status.Attached; is != reported || a != nil && !is {
				m.t.Fatalf("the attachment of volume %s to %s is %+v, reported: %v", volume, node.Name, a, reported)
			}
			if a != nil && !on[node.Name] {
				m.t.Fatalf("volume %s is attached to %s without a pod", volume, node.Name)
			}
			if a != nil {
				attached++
			}
		}
		if want := min(len(on), 1); attached != want {
			m.t.Fatalf("volume %s is attached to %d nodes and used on %d", volume, attached, len(on))
		}
	}
}

func neverAttachedTwice(t *rapid.T, mistaken mistake) {
	m := newModel(t, mistaken)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(10_000, time.Hour, func() bool {
		for i := range modelNodes {
			m.restart(nodeName(i))
			if m.kubelet(nodeName(i)) {
				return true
			}
		}
		return slices.ContainsFunc(modeltest.List[*storagev1.VolumeAttachment](m.World), m.serve)
	}))
	m.rightInTheEnd()
}

// TestNeverAttachedTwice checks that a volume never has attachments to two nodes, and that no
// kubelet that acts has mounted one that is not attached, whatever happens between the
// controller's writes, however far its caches are behind, and wherever it crashes; and that each
// volume is attached where its pods are in the end.
func TestNeverAttachedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { neverAttachedTwice(t, func(*Controller) {}) })
}

// forgetfulAPI makes the controller forget the attachments that it has just created: it returns
// attachments of another volume.
type forgetfulAPI struct{ api }

func (a forgetfulAPI) Create(ctx context.Context, attachment *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, error) {
	created, err := a.api.Create(ctx, attachment)
	if err == nil {
		*created.Spec.Source.PersistentVolumeName = "another"
	}
	return created, err
}

// blindAPI hides the volumes in use on a node when the controller checks before it detaches.
type blindAPI struct{ api }

func (a blindAPI) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return blind(a.api.Node(ctx, name))
}

func (a blindAPI) PatchNodeStatus(ctx context.Context, name string, patch []byte) (*corev1.Node, error) {
	return blind(a.api.PatchNodeStatus(ctx, name, patch))
}

func blind(node *corev1.Node, err error) (*corev1.Node, error) {
	if err == nil {
		node.Status.VolumesInUse = nil
	}
	return node, err
}

// TestModelSeesMistakes plants mistakes that the model must see.
func TestModelSeesMistakes(t *testing.T) {
	modeltest.MustBreak(t, "is attached to n", func(t *rapid.T) {
		neverAttachedTwice(t, func(c *Controller) { c.api = forgetfulAPI{c.api} })
	})
	modeltest.MustBreak(t, "and not attached to it", func(t *rapid.T) {
		neverAttachedTwice(t, func(c *Controller) { c.api = blindAPI{c.api} })
	})
}
