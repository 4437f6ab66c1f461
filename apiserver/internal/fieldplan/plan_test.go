package fieldplan

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// selecting returns a selector of fields by the name of their type, a blank, and their path.
func selecting(fields map[string]int) Selector {
	return func(t reflect.Type) map[string]int {
		marks := map[string]int{}
		for name, mark := range fields {
			if of, field, _ := strings.Cut(name, " "); of == t.Name() {
				marks[field] = mark
			}
		}
		return marks
	}
}

func TestPlan(t *testing.T) {
	plan := New(reflect.TypeFor[*appsv1.Deployment](), selecting(map[string]int{
		"PodSpec hostUsers": 0, "Lifecycle stopSignal": 1, "PodSpec containers.restartPolicy": 2, "VolumeSource image": 3, "EphemeralContainer resizePolicy": 4,
		"Node spec": 5,
	}))
	full := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		always := corev1.ContainerRestartPolicyAlways
		d.Spec.Template.Spec = corev1.PodSpec{
			HostUsers:      ptr.To(false),
			InitContainers: []corev1.Container{{Name: "a", RestartPolicy: &always}},
			Containers: []corev1.Container{
				{Name: "b"}, {Name: "c", RestartPolicy: &always, Lifecycle: &corev1.Lifecycle{StopSignal: ptr.To(corev1.SIGTERM)}},
			},
			Volumes:             []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{ResizePolicy: []corev1.ContainerResizePolicy{{}}}}},
		}
		return d
	}
	d := full()
	if got := plan.Set(d); got != 0b11111 {
		t.Errorf("set: %b", got)
	}
	want := []string{
		"spec.template.spec.volumes[0].image", "spec.template.spec.containers[1].restartPolicy", "spec.template.spec.containers[1].lifecycle.stopSignal",
		"spec.template.spec.ephemeralContainers[0].resizePolicy", "spec.template.spec.hostUsers",
	}
	if diff := cmp.Diff(want, plan.Paths(d)); diff != "" {
		t.Error(diff)
	}
	plan.Clear(d, 1<<1)
	if got := plan.Set(d); got != 1<<1 {
		t.Errorf("set after clearing all but one: %b", got)
	}
	if d.Spec.Template.Spec.InitContainers[0].RestartPolicy == nil {
		t.Error("a field that only containers lack was removed from an init container")
	}
	if got := plan.Set(&appsv1.Deployment{}); got != 0 || plan.Paths(&appsv1.Deployment{}) != nil {
		t.Errorf("an empty object has %b", got)
	}
}

func TestPlanOfMapsAndRecursion(t *testing.T) {
	plan := New(reflect.TypeFor[resourcev1.ResourceSlice](), selecting(map[string]int{"DeviceAttribute bools": 0}))
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"a": {BoolValues: []bool{true}}, "b": {BoolValue: ptr.To(true)},
	}}}}}
	if diff := cmp.Diff([]string{"spec.devices[0].attributes.a.bools"}, plan.Paths(slice)); diff != "" {
		t.Error(diff)
	}
	plan.Clear(slice, 0)
	if attributes := slice.Spec.Devices[0].Attributes; len(attributes) != 2 || attributes["a"].BoolValues != nil || attributes["b"].BoolValue == nil {
		t.Errorf("got %v", attributes)
	}
	if New(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), selecting(map[string]int{"Pod spec": 0})) != nil {
		t.Error("a plan without fields")
	}
}

func BenchmarkClear(b *testing.B) {
	plan := New(reflect.TypeFor[corev1.Pod](), selecting(map[string]int{
		"PodSpec schedulingGroup": 0, "Lifecycle stopSignal": 1, "VolumeMount bindMountOptions": 2, "EmptyDirVolumeSource mode": 3, "HTTPGetAction protocol": 4,
		"GRPCAction mode": 5, "PodSpec evictionResponders": 6, "PodStatus volumeHealth": 7, "VolumeMountStatus volumeStatus": 8, "SecretVolumeSource defaultUser": 9,
	}))
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{}}, LivenessProbe: &corev1.Probe{}}},
		Volumes:    []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{}, {}, {}}}}}},
	}}
	for b.Loop() {
		plan.Clear(pod, 0)
	}
}
