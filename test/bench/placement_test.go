//go:build unix

package bench

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	placedPods     = 2000
	placementZones = 10
	deviceDriver   = "gpu.example.com"
	deviceResource = "example.com/gpu"
)

// placement holds the constraints of a run's pods other than CPU and memory.
type placement struct {
	name string
	// each adds to a pod; prepare makes the objects that the pods refer to.
	each    func(i int, pod *corev1.Pod)
	prepare func(ctx context.Context, b *testing.B, cluster *minikcm.Cluster)
}

var placements = []placement{
	{name: "plain"},
	{name: "kept apart", each: func(_ int, pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
		}}}}
	}},
	{name: "spread over zones", each: func(_ int, pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	}},
	{name: "with a volume of a zone", prepare: boundVolumes, each: func(i int, pod *corev1.Pod) {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim(i, "").Name}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
	}},
	{name: "with a device", prepare: devices, each: func(i int, pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To(fmt.Sprint("gpu-", i))}}
	}},
	{name: "with an extended resource", prepare: publishDevices, each: func(_ int, pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{deviceResource: resource.MustParse("1")}
	}},
}

// BenchmarkPlacement measures how many pods a second the scheduler places on 1,000 and on 5,000
// nodes, from their creation until the last one is bound. No kubelet runs them.
func BenchmarkPlacement(b *testing.B) {
	for _, p := range placements {
		for _, n := range []int{1000, 5000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", p.name, n), func(b *testing.B) {
				for b.Loop() {
					p.measure(b, n)
				}
			})
		}
	}
}

func (p placement) figure(n int) string { return fmt.Sprintf("pods %s, placed on %d nodes", p.name, n) }

func (p placement) measure(b *testing.B, n int) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, func(o *minikcm.Options) { o.Nodes.Count, o.Controllers.Selected = -1, []string{"serviceaccount"} })
	defer closeBig(b, cluster)
	client := cluster.Client().CoreV1()
	inParallel(b, n, func(i int) error {
		_, err := client.Nodes().Create(ctx, emptyNode(i), metav1.CreateOptions{})
		return err
	})
	if p.prepare != nil {
		p.prepare(ctx, b, cluster)
	}
	pods := client.Pods(metav1.NamespaceDefault)
	watcher, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	elapsed := clock.Stopwatch()
	inParallel(b, placedPods, func(i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("10Mi"),
			}}}},
		}}
		if p.each != nil {
			p.each(i, pod)
		}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	placed := map[string]bool{}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		if pod, ok := ev.Object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			placed[pod.Name] = true
		}
		return len(placed) == placedPods
	})
	measured.add(p.figure(n), "pods/s", placedPods/elapsed().Seconds())
	if n != 1000 {
		measured.compare(p.figure(n), p.figure(1000))
	}
}

func zone(i int) string { return fmt.Sprint("zone-", i%placementZones) }

// emptyNode is a Node that is Ready and has no kubelet.
func emptyNode(i int) *corev1.Node {
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	name := fmt.Sprint("empty-", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone(i)}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// boundVolumes makes a claim for each pod, bound to a volume that is in one zone.
func boundVolumes(ctx context.Context, b *testing.B, cluster *minikcm.Cluster) {
	b.Helper()
	client := cluster.Client().CoreV1()
	inParallel(b, placedPods, func(i int) error {
		bound := claim(i, "")
		name := fmt.Sprint("volume-", i)
		bound.Spec.VolumeName = name
		bound.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		created, err := client.PersistentVolumeClaims(metav1.NamespaceDefault).Create(ctx, bound, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		created.Status.Phase = corev1.ClaimBound
		if _, err := client.PersistentVolumeClaims(metav1.NamespaceDefault).UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
			return err
		}
		_, err = client.PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: created.Spec.AccessModes,
			ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: created.Namespace, Name: created.Name, UID: created.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "simulated.minikcm.dev", VolumeHandle: name}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone(i)}}},
			}}}},
		}}, metav1.CreateOptions{})
		return err
	})
}

// publishDevices makes eight devices on each of 1,000 nodes.
func publishDevices(ctx context.Context, b *testing.B, cluster *minikcm.Cluster) {
	b.Helper()
	client := cluster.Client().ResourceV1()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: deviceDriver}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To(deviceResource)}}
	if _, err := client.DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	inParallel(b, 1000, func(i int) error {
		node := emptyNode(i).Name
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
		}}
		for d := range 8 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
		}
		_, err := client.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		return err
	})
}

// devices makes a claim of one device for each pod, and the devices.
func devices(ctx context.Context, b *testing.B, cluster *minikcm.Cluster) {
	b.Helper()
	publishDevices(ctx, b, cluster)
	client := cluster.Client().ResourceV1()
	inParallel(b, placedPods, func(i int) error {
		request := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: deviceDriver}}
		_, err := client.ResourceClaims(metav1.NamespaceDefault).Create(ctx, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("gpu-", i)},
			Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}},
		}, metav1.CreateOptions{})
		return err
	})
}
