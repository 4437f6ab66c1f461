package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder"
	"minikcm.dev/minikcm/controllers/internal/pvcprotection"
	"minikcm.dev/minikcm/controllers/internal/pvprotection"
	"minikcm.dev/minikcm/controllers/internal/rootca"
	"minikcm.dev/minikcm/controllers/internal/serviceaccount"
	"minikcm.dev/minikcm/minikcmtest"
)

// binderBench is a cluster with the controllers of volumes.
type binderBench struct {
	*minikcmtest.Cluster
	t   *testing.T
	ctx context.Context
}

func startBinder(t *testing.T) *binderBench { return startBinderOn(t, 0) }

// startBinderOn starts a cluster with nodes.
func startBinderOn(t *testing.T, nodes int) *binderBench {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithNodes(nodes), minikcmtest.WithVirtualTime(),
		minikcmtest.WithControllers(persistentvolumebinder.Name, pvcprotection.Name, pvprotection.Name, serviceaccount.Name, rootca.Name))
	return &binderBench{Cluster: c, t: t, ctx: t.Context()}
}

func (b *binderBench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *binderBench) volume(name string, policy corev1.PersistentVolumeReclaimPolicy, path string) {
	b.t.Helper()
	_, err := b.Client().CoreV1().PersistentVolumes().Create(b.ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")},
		PersistentVolumeReclaimPolicy: policy, PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
	}}, metav1.CreateOptions{})
	b.must(err)
}

func (b *binderBench) claim(name string, class *string) {
	b.t.Helper()
	_, err := b.Client().CoreV1().PersistentVolumeClaims("default").Create(b.ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: class,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}, metav1.CreateOptions{})
	b.must(err)
}

// state describes all claims, volumes and events about them.
func (b *binderBench) state() string {
	b.t.Helper()
	b.must(b.Advance(b.ctx, time.Minute))
	var lines []string
	claims, err := b.Client().CoreV1().PersistentVolumeClaims("default").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, c := range claims.Items {
		lines = append(lines, fmt.Sprintf("claim %s %s volume=%s capacity=%s class=%s", c.Name, c.Status.Phase, c.Spec.VolumeName, c.Status.Capacity.Storage(), ptr.Deref(c.Spec.StorageClassName, "-")))
	}
	volumes, err := b.Client().CoreV1().PersistentVolumes().List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, v := range volumes.Items {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("volume %s %s %s", v.Name, v.Status.Phase, v.Status.Message)))
	}
	return strings.Join(lines, "\n")
}

func (b *binderBench) want(want ...string) {
	b.t.Helper()
	if got := b.state(); got != strings.Join(want, "\n") {
		b.t.Fatalf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// wantEvent checks that there is an event about the object.
func (b *binderBench) wantEvent(object, reason, message string) {
	b.t.Helper()
	events, err := b.Client().CoreV1().Events("").List(b.ctx, metav1.ListOptions{})
	b.must(err)
	for _, e := range events.Items {
		if e.InvolvedObject.Name == object && e.Reason == reason && e.Message == message && e.Source.Component == "persistentvolume-controller" {
			return
		}
	}
	b.t.Errorf("no event %s about %s with the message %q", reason, object, message)
}

// TestAClaimsLife binds a claim to a volume that comes after it, deletes it, and makes one that
// loses its volume.
func TestAClaimsLife(t *testing.T) {
	t.Parallel()
	b := startBinder(t)
	b.claim("c", nil)
	b.want("claim c Pending volume= capacity=0 class=-")
	b.wantEvent("c", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	b.volume("v", corev1.PersistentVolumeReclaimRetain, "/data")
	b.want("claim c Bound volume=v capacity=5Gi class=-", "volume v Bound")
	claims, volumes := b.Client().CoreV1().PersistentVolumeClaims("default"), b.Client().CoreV1().PersistentVolumes()
	b.must(claims.Delete(b.ctx, "c", metav1.DeleteOptions{}))
	b.want("volume v Released")
	b.claim("c", nil)
	b.want("claim c Pending volume= capacity=0 class=-", "volume v Released")
	v, err := volumes.Get(b.ctx, "v", metav1.GetOptions{})
	b.must(err)
	v.Spec.ClaimRef = nil
	_, err = volumes.Update(b.ctx, v, metav1.UpdateOptions{})
	b.must(err)
	b.want("claim c Bound volume=v capacity=5Gi class=-", "volume v Bound")
	b.must(volumes.Delete(b.ctx, "v", metav1.DeleteOptions{}))
	v, err = volumes.Get(b.ctx, "v", metav1.GetOptions{})
	b.must(err)
	v.Finalizers = nil // the protection adds it again unless the volume is being deleted
	_, err = volumes.Update(b.ctx, v, metav1.UpdateOptions{})
	b.must(err)
	b.want("claim c Lost volume=v capacity=0 class=-")
	b.wantEvent("c", "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
}

// TestReclaimPolicies deletes the claims of volumes with the policy Delete.
func TestReclaimPolicies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy        corev1.PersistentVolumeReclaimPolicy
		path          string
		reason, event string
		want          []string
	}{
		{corev1.PersistentVolumeReclaimDelete, "/tmp/v", "", "", nil},
		{corev1.PersistentVolumeReclaimDelete, "/data", "VolumeFailedDelete", "host_path deleter only supports /tmp/.+ but received provided /data", []string{"volume v Failed host_path deleter only supports /tmp/.+ but received provided /data"}},
	} {
		b := startBinder(t)
		b.volume("v", test.policy, test.path)
		b.claim("c", ptr.To(""))
		b.want("claim c Bound volume=v capacity=5Gi class=", "volume v Bound")
		b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Delete(b.ctx, "c", metav1.DeleteOptions{}))
		b.want(test.want...)
		if test.reason != "" {
			b.wantEvent("v", test.reason, test.event)
		}
	}
}

// pod runs a script once, with the files of a claim in /data, and returns the pod's phase.
func (b *binderBench) pod(name, claim, script string) corev1.PodPhase {
	b.t.Helper()
	pods := b.Client().CoreV1().Pods("default")
	_, err := pods.Create(b.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "c", Image: "tool", Command: []string{"sh", "-c", script}, VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
	}}, metav1.CreateOptions{})
	b.must(err)
	b.must(b.Advance(b.ctx, time.Minute))
	pod, err := pods.Get(b.ctx, name, metav1.GetOptions{})
	b.must(err)
	return pod.Status.Phase
}

// TestRecycledVolume deletes the claim of a volume with the policy Recycle: when no pod uses the claim, a
// recycler pod removes the files, and the volume is there for another claim.
func TestRecycledVolume(t *testing.T) {
	t.Parallel()
	b := startBinderOn(t, 1)
	b.volume("v", corev1.PersistentVolumeReclaimRecycle, "/data")
	b.claim("c", ptr.To(""))
	if phase := b.pod("writer", "c", "mkdir /data/d && echo x > /data/d/f"); phase != corev1.PodSucceeded {
		t.Fatalf("the writer is %s", phase)
	}
	b.must(b.Client().CoreV1().Pods("default").Delete(b.ctx, "writer", metav1.DeleteOptions{}))
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Delete(b.ctx, "c", metav1.DeleteOptions{}))
	b.want("volume v Available")
	b.wantEvent("v", "VolumeRecycled", "Volume recycled")
	if _, err := b.Client().CoreV1().Pods("default").Get(b.ctx, "recycler-for-v", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the recycler pod is still there: %v", err)
	}
	b.claim("d", ptr.To(""))
	if phase := b.pod("reader", "d", `test -d /data && test -z "$(ls -A /data)"`); phase != corev1.PodSucceeded {
		t.Errorf("the reader is %s: the volume has files", phase)
	}
}

// TestClassesOfClaims creates claims before their default class, and in a class that waits for pods.
func TestClassesOfClaims(t *testing.T) {
	t.Parallel()
	b := startBinder(t)
	b.claim("early", nil)
	b.claim("none", ptr.To(""))
	b.claim("waits", ptr.To("late"))
	for name, mode := range map[string]storagev1.VolumeBindingMode{"late": storagev1.VolumeBindingWaitForFirstConsumer, "std": storagev1.VolumeBindingImmediate} {
		_, err := b.Client().StorageV1().StorageClasses().Create(b.ctx, &storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": fmt.Sprint(name == "std")}},
			Provisioner: "x.y/z", VolumeBindingMode: &mode,
		}, metav1.CreateOptions{})
		b.must(err)
	}
	b.want("claim early Pending volume= capacity=0 class=std", "claim none Pending volume= capacity=0 class=", "claim waits Pending volume= capacity=0 class=late")
	b.wantEvent("waits", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	b.wantEvent("early", "ExternalProvisioning", "Waiting for a volume to be created either by the external provisioner 'x.y/z' or manually by the system administrator. "+
		"If volume creation is delayed, please verify that the provisioner is running and correctly registered.")
}
