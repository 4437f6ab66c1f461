package nodeauthorizer

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podOn returns a pod on a node that refers to one object of each kind, by the pod's name.
func podOn(node, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "1"},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: name + "-account",
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: name + "-pull"}},
			InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-env"}}},
			}}},
			Volumes: []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-map"}}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-claim"}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("template")}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func volumeOf(name, claim, secret string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				NodeStageSecretRef:         &corev1.SecretReference{Namespace: "drivers", Name: secret},
				ControllerPublishSecretRef: &corev1.SecretReference{Namespace: "drivers", Name: "controller"},
			}},
		},
	}
}

func TestRelations(t *testing.T) {
	claimed := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &name}}
		}
	}
	g := newGraph()
	g.setPod(podOn("n1", "a"))
	g.setPod(podOn("n1", "a", claimed("a-gpu"))) // what may change
	g.setPod(podOn("n2", "b"))
	g.setPod(podOn("", "unbound"))
	g.setPod(podOn("n1", "mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }))
	g.setPod(podOn("n1", "gone"))
	g.dropPod(object{pods, "ns", "gone"})
	g.setVolume(volumeOf("v", "a-claim", "stage"))
	g.setVolume(volumeOf("released", "a-claim", "late"))
	g.dropVolume("released")
	g.setOwned(object{attachments, "", "csi-1"}, "n1")
	g.setOwned(object{resourceSlices, "", "slice"}, "n1")
	g.setOwned(object{resourceSlices, "", "all"}, "")
	g.setOwned(object{podCertificates, "ns", "request"}, "n1")
	for _, tt := range []struct {
		object object
		nodes  []string
	}{
		{object{pods, "ns", "a"}, []string{"n1"}},
		{object{pods, "ns", "b"}, []string{"n2"}},
		{object{pods, "ns", "unbound"}, nil},
		{object{pods, "ns", "gone"}, nil},
		{object{serviceAccounts, "ns", "a-account"}, []string{"n1"}},
		{object{secrets, "ns", "a-pull"}, []string{"n1"}},
		{object{secrets, "ns", "a-env"}, []string{"n1"}},
		{object{secrets, "other", "a-env"}, nil},
		{object{configMaps, "ns", "a-env"}, nil},
		{object{configMaps, "ns", "a-map"}, []string{"n1"}},
		{object{configMaps, "ns", "gone-map"}, nil},
		{object{configMaps, "ns", "mirror-map"}, nil},
		{object{serviceAccounts, "ns", "mirror-account"}, nil},
		{object{volumeClaims, "ns", "a-claim"}, []string{"n1"}},
		{object{volumeClaims, "ns", "a-c"}, []string{"n1"}},
		{object{resourceClaims, "ns", "a-gpu"}, []string{"n1"}},
		{object{resourceClaims, "ns", "b-gpu"}, nil},
		{object{volumes, "", "v"}, []string{"n1"}},
		{object{volumes, "", "released"}, nil},
		{object{secrets, "drivers", "stage"}, []string{"n1"}},
		{object{secrets, "drivers", "controller"}, nil},
		{object{secrets, "drivers", "late"}, nil},
		{object{attachments, "", "csi-1"}, []string{"n1"}},
		{object{resourceSlices, "", "slice"}, []string{"n1"}},
		{object{resourceSlices, "", "all"}, nil},
		{object{podCertificates, "ns", "request"}, []string{"n1"}},
	} {
		for _, node := range []string{"n1", "n2", ""} {
			if got := g.related(node, tt.object); got != slices.Contains(tt.nodes, node) {
				t.Errorf("node %q, %+v: related is %v", node, tt.object, got)
			}
		}
	}
}

func TestNothingStaysInTheGraph(t *testing.T) {
	g := newGraph()
	for i := range 3 {
		g.setPod(podOn("n1", fmt.Sprint(i)))
		g.setPod(podOn("n2", fmt.Sprint(i), func(p *corev1.Pod) { p.UID = "2" }))
		g.setVolume(volumeOf(fmt.Sprint(i), "c", "s"))
	}
	for i := range 3 {
		g.dropPod(object{pods, "ns", fmt.Sprint(i)})
		g.dropVolume(fmt.Sprint(i))
	}
	if len(g.pods)+len(g.refer)+len(g.volumes)+len(g.volumesOf) > 0 {
		t.Errorf("%+v", g)
	}
}

// BenchmarkRelated asks about an object that the pods of 1,000 nodes share, and about one of a
// single pod, with 30,000 pods.
func BenchmarkRelated(b *testing.B) {
	g := newGraph()
	for i := range 30_000 {
		g.setPod(podOn(fmt.Sprint("n", i%1000), fmt.Sprint(i), func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" }))
	}
	b.ReportAllocs()
	for b.Loop() {
		if !g.related("n7", object{serviceAccounts, "ns", "default"}) || !g.related("n7", object{secrets, "ns", "7-env"}) || g.related("n8", object{secrets, "ns", "7-env"}) {
			b.Fatal("wrong answer")
		}
	}
}

// BenchmarkSetPod takes in what a kubelet's report changes, which is nothing.
func BenchmarkSetPod(b *testing.B) {
	g := newGraph()
	pod := podOn("n1", "a")
	g.setPod(pod)
	b.ReportAllocs()
	for b.Loop() {
		g.setPod(pod)
	}
}
