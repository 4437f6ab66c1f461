package kubeletsim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

func (c *streamCluster) claim(name string) {
	c.t.Helper()
	_, err := c.client.CoreV1().PersistentVolumeClaims("default").Create(c.t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// using mounts a claim at /data.
func using(claim string) func(*corev1.Pod) {
	return mounting(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

// mounting mounts a volume at /data.
func mounting(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
}

// remove deletes a pod and waits until it is gone.
func (c *streamCluster) remove(name string) {
	c.t.Helper()
	now := int64(0)
	if err := c.client.CoreV1().Pods("default").Delete(c.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		c.t.Fatal(err)
	}
	c.Eventually("the pod to be gone", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is still there"))
	})
}

// TestContentOfVolumes writes a file into the volume of a claim, reads it in a pod on another
// node, and checks that a new claim of that name begins with an empty volume.
func TestContentOfVolumes(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithNodes(2))
	shell := func(pod, script, want string) {
		t.Helper()
		if got := c.exec(dialers()[0], pod, "", nil, "sh", "-c", script); got.out != want || got.failure != nil {
			t.Fatalf("%s in pod %s printed %q (%s, %v), want %q", script, pod, got.out, got.err, got.failure, want)
		}
	}
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		}
	}
	c.claim("data")
	c.run(podNamed("first", using("data"), on("node-0")))
	shell("first", "echo kept > /data/f; ls /data", "f\n")
	c.remove("first")
	c.run(podNamed("second", using("data"), on("node-1")))
	shell("second", "cat /data/f", "kept\n")
	c.remove("second")
	if err := c.client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the volume to be deleted", func(ctx context.Context, client kubernetes.Interface) error {
		volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err == nil && len(volumes.Items) > 0 {
			err = fmt.Errorf("%s is %s", volumes.Items[0].Name, volumes.Items[0].Status.Phase)
		}
		return err
	})
	c.claim("data")
	c.run(podNamed("third", using("data"), on("node-1")))
	shell("third", "ls /data", "")
}

// TestWaitsForItsClaim checks that a pod that a client has assigned to a node waits until its
// claim is bound.
func TestWaitsForItsClaim(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	pod := podNamed("p", using("data"), func(pod *corev1.Pod) { pod.Spec.NodeName = "node-0" })
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const failed = "Warning FailedMount Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/data: "
	c.EventuallyEvent("default", "Pod", failed+`failed to fetch PVC from API server: persistentvolumeclaims "data" not found`)
	c.claim("data")
	c.EventuallyEvent("default", "Pod", failed+"PVC is not bound")
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		StorageClassName: "standard", ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/x"}},
	}}
	if _, err := c.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", got.Status.Phase)
		}
		return err
	})
}

// TestGitRepoVolumes checks that a pod with a gitRepo volume does not start: kubelets have disabled the plugin.
func TestGitRepoVolumes(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	pod := podNamed("p", func(pod *corev1.Pod) {
		pod.Spec.NodeName = "node-0"
		pod.Spec.Volumes = []corev1.Volume{{Name: "source", VolumeSource: corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://example.com/a.git"}}}}
	})
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.EventuallyEvent("default", "Pod", "Warning FailedMount MountVolume.SetUp failed for volume \"source\" : git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`")
}
