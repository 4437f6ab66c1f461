package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
	"minikcm.dev/minikcm/minikcmtest"
)

// provisionerBench is a cluster with a node in each of the zones zero and one.
type provisionerBench struct {
	*minikcmtest.Cluster
	t   *testing.T
	ctx context.Context
}

func startProvisioner(t *testing.T) *provisionerBench {
	t.Helper()
	b := &provisionerBench{minikcmtest.New(t, minikcmtest.WithNodes(2), minikcmtest.WithVirtualTime()), t, t.Context()}
	for node, zone := range map[string]string{"node-0": "zero", "node-1": "one"} {
		b.patchNode(node, `{"metadata":{"labels":{"topology.kubernetes.io/zone":"`+zone+`"}}}`)
	}
	return b
}

func (b *provisionerBench) patchNode(name, patch string) {
	b.t.Helper()
	_, err := b.Client().CoreV1().Nodes().Patch(b.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	b.must(err)
}

func (b *provisionerBench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *provisionerBench) class(name string, change func(*storagev1.StorageClass)) {
	b.t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}, Provisioner: decide.Provisioner,
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate), Parameters: map[string]string{},
	}
	change(class)
	_, err := b.Client().StorageV1().StorageClasses().Create(b.ctx, class, metav1.CreateOptions{})
	b.must(err)
}

// claim creates a claim of 1Gi with annotations, given as keys and values.
func (b *provisionerBench) claim(name, class string, annotations ...string) {
	b.t.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if class != "" {
		c.Spec.StorageClassName = &class
	}
	for i := 0; i < len(annotations); i += 2 {
		c.Annotations[annotations[i]] = annotations[i+1]
	}
	_, err := b.Client().CoreV1().PersistentVolumeClaims("default").Create(b.ctx, c, metav1.CreateOptions{})
	b.must(err)
}

// pod creates a pod that uses claims.
func (b *provisionerBench) pod(name string, claims ...string) {
	b.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
	for _, claim := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	_, err := b.Client().CoreV1().Pods("default").Create(b.ctx, p, metav1.CreateOptions{})
	b.must(err)
}

// want lets time pass and compares all claims, volumes and pods.
func (b *provisionerBench) want(pass time.Duration, want ...string) {
	b.t.Helper()
	b.must(b.Advance(b.ctx, pass))
	var lines []string
	core := b.Client().CoreV1()
	claims, err := core.PersistentVolumeClaims("default").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, c := range claims.Items {
		lines = append(lines, fmt.Sprintf("claim %s %s in %s", c.Name, c.Status.Phase, ptr.Deref(c.Spec.StorageClassName, "-")))
	}
	volumes, err := core.PersistentVolumes().List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, v := range volumes.Items {
		where := ""
		if a := v.Spec.NodeAffinity; a != nil {
			where = " on " + a.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
		}
		lines = append(lines, fmt.Sprintf("volume for %s %s%s", v.Spec.ClaimRef.Name, v.Status.Phase, where))
	}
	slices.Sort(lines) // the order of volume names is not the order of claim names
	pods, err := core.Pods("default").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, p := range pods.Items {
		lines = append(lines, fmt.Sprintf("pod %s %s", p.Name, p.Status.Phase))
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		b.t.Fatalf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// wantEvent checks that there is an event about the object.
func (b *provisionerBench) wantEvent(object, reason, message string) {
	b.t.Helper()
	events, err := b.Client().CoreV1().Events("").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, e := range events.Items {
		if e.InvolvedObject.Name == object && e.Reason == reason && e.Message == message {
			return
		}
	}
	b.t.Errorf("no event %s about %s with the message %q", reason, object, message)
}

// TestDefaultStorageClass runs a pod with a claim without a class, and deletes both: the volume goes
// with the claim.
func TestDefaultStorageClass(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.claim("c", "")
	b.want(time.Minute, "claim c Pending in standard")
	b.wantEvent("c", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	b.pod("p", "c")
	b.want(time.Second, "claim c Bound in standard", "volume for c Bound", "pod p Running")
	b.wantEvent("c", "Provisioning", `External provisioner is provisioning volume for claim "default/c"`)
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Delete(b.ctx, "c", metav1.DeleteOptions{}))
	b.want(time.Minute, "claim c Bound in standard", "volume for c Bound", "pod p Running")
	b.must(b.Client().CoreV1().Pods("default").Delete(b.ctx, "p", metav1.DeleteOptions{}))
	b.want(time.Minute)
}

// TestSlowAndFailingProvisioner provisions with a delay, which delays the pod, and with an error until it
// is mended.
func TestSlowAndFailingProvisioner(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.claim("slow", "", decide.DelayAnnotation, "30s")
	b.pod("p", "slow")
	b.want(29*time.Second, "claim slow Pending in standard", "pod p Pending")
	b.want(2*time.Second, "claim slow Bound in standard", "volume for slow Bound", "pod p Running")
	b.claim("wrong", "", decide.DelayAnnotation, "soon")
	b.claim("bad", "", decide.ErrorAnnotation, "disks are sold out")
	b.pod("q", "bad", "wrong")
	b.want(5*time.Second, "claim bad Pending in standard", "claim slow Bound in standard", "claim wrong Pending in standard", "volume for slow Bound", "pod p Running", "pod q Pending")
	b.wantEvent("bad", "ProvisioningFailed", `failed to provision volume with StorageClass "standard": disks are sold out`)
	b.wantEvent("wrong", "ProvisioningFailed", `failed to provision volume with StorageClass "standard": the annotation minikcm.dev/provision-delay is "soon": it must be a duration from 0s to 24h0m0s, such as 5s`)
	for _, name := range []string{"bad", "wrong"} {
		patch := `{"metadata":{"annotations":{"` + decide.ErrorAnnotation + `":null,"` + decide.DelayAnnotation + `":null}}}`
		_, err := b.Client().CoreV1().PersistentVolumeClaims("default").Patch(b.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		b.must(err)
	}
	b.want(time.Minute, "claim bad Bound in standard", "claim slow Bound in standard", "claim wrong Bound in standard",
		"volume for bad Bound", "volume for slow Bound", "volume for wrong Bound", "pod p Running", "pod q Running")
}

// TestProvisionerLimits provisions in a class with room for two volumes, whose deletion fails for a while.
func TestProvisionerLimits(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.class("small", func(c *storagev1.StorageClass) {
		c.Parameters[decide.CapacityParameter], c.Annotations[decide.DeleteErrorAnnotation] = "2Gi", "the array is busy"
	})
	for _, name := range []string{"a", "b", "c"} {
		b.claim(name, "small")
		b.must(b.Advance(b.ctx, time.Second))
	}
	b.want(time.Minute, "claim a Bound in small", "claim b Bound in small", "claim c Pending in small", "volume for a Bound", "volume for b Bound")
	b.wantEvent("c", "ProvisioningFailed", `failed to provision volume with StorageClass "small": not enough capacity: 0 of 2Gi are left, and the claim requests 1Gi`)
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Delete(b.ctx, "a", metav1.DeleteOptions{}))
	b.must(b.Advance(b.ctx, time.Minute))
	claims, err := b.Client().CoreV1().PersistentVolumes().List(b.ctx, metav1.ListOptions{})
	b.must(err)
	if len(claims.Items) != 2 {
		t.Fatalf("there are %d volumes, not 2", len(claims.Items))
	}
	_, err = b.Client().StorageV1().StorageClasses().Patch(b.ctx, "small", types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`), metav1.PatchOptions{})
	b.must(err)
	b.want(time.Minute, "claim b Bound in small", "claim c Bound in small", "volume for b Bound", "volume for c Bound")
}

// TestVolumeTopology provisions a volume that only the nodes of a zone can use.
func TestVolumeTopology(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.class("zonal", func(c *storagev1.StorageClass) {
		c.VolumeBindingMode, c.Parameters[decide.TopologyParameter] = ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), corev1.LabelTopologyZone
	})
	b.class("in-one", func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"one"}}}}}
	})
	b.claim("c", "zonal")
	b.claim("d", "in-one")
	for name, claim := range map[string]string{"p": "c", "q": "d"} {
		b.pod(name, claim)
	}
	b.must(b.Advance(b.ctx, time.Minute))
	nodeOf := func(pod string) string {
		p, err := b.Client().CoreV1().Pods("default").Get(b.ctx, pod, metav1.GetOptions{})
		b.must(err)
		return p.Spec.NodeName
	}
	if node := nodeOf("q"); node != "node-1" {
		t.Errorf("the pod with a volume in zone one is on %s", node)
	}
	node := nodeOf("p")
	zone := map[string]string{"node-0": "zero", "node-1": "one"}[node]
	b.want(0, "claim c Bound in zonal", "claim d Bound in in-one", "volume for c Bound on "+zone, "volume for d Bound on one", "pod p Running", "pod q Running")
	b.patchNode(node, `{"spec":{"unschedulable":true}}`)
	b.pod("r", "c")
	b.must(b.Advance(b.ctx, time.Minute))
	b.wantEvent("r", "FailedScheduling", "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) were unschedulable. "+
		"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
}

// TestVolumeExpansion requests more storage in a class that allows it, up to the class's capacity.
func TestVolumeExpansion(t *testing.T) {
	t.Parallel()
	b := startProvisioner(t)
	b.class("elastic", func(c *storagev1.StorageClass) {
		c.AllowVolumeExpansion, c.Parameters[decide.CapacityParameter] = ptr.To(true), "4Gi"
	})
	b.claim("c", "elastic")
	b.must(b.Advance(b.ctx, time.Minute))
	name := b.expand("3Gi", "3Gi")
	b.wantEvent("c", "VolumeResizeSuccessful", "Resize volume succeeded")
	b.wantEvent("c", "ExternalExpanding", "waiting for an external controller to expand this PVC")
	b.wantResizing(false, "3Gi")
	b.expand("5Gi", "3Gi")
	b.wantResizing(true, "5Gi")
	b.wantEvent("c", "VolumeResizeFailed", `resize volume "`+name+`" failed: not enough capacity: 1Gi of 4Gi are left, and the claim requests 2Gi`)
}

// wantResizing checks whether the status of claim c reports an expansion, and to which size it was last
// expanded.
func (b *provisionerBench) wantResizing(want bool, allocated string) {
	b.t.Helper()
	claim, err := b.Client().CoreV1().PersistentVolumeClaims("default").Get(b.ctx, "c", metav1.GetOptions{})
	b.must(err)
	condition := slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimResizing && c.Status == corev1.ConditionTrue
	})
	status := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if condition != want || (status == corev1.PersistentVolumeClaimControllerResizeInProgress) != want || claim.Status.AllocatedResources.Storage().String() != allocated {
		b.t.Errorf("the status is %+v", claim.Status)
	}
}

// expand changes the request of claim c, compares the capacities of the claim and its volume,
// and returns the volume's name.
func (b *provisionerBench) expand(request, want string) string {
	b.t.Helper()
	claims := b.Client().CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Patch(b.ctx, "c", types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"`+request+`"}}}}`), metav1.PatchOptions{})
	b.must(err)
	b.must(b.Advance(b.ctx, time.Minute))
	claim, err := claims.Get(b.ctx, "c", metav1.GetOptions{})
	b.must(err)
	volume, err := b.Client().CoreV1().PersistentVolumes().Get(b.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	b.must(err)
	if claim.Status.Capacity.Storage().String() != want || volume.Spec.Capacity.Storage().String() != want {
		b.t.Errorf("the claim has %s and its volume %s, want %s", claim.Status.Capacity.Storage(), volume.Spec.Capacity.Storage(), want)
	}
	return volume.Name
}
