package kubeletsim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/minikcmtest"
)

// An image profile that appears while a pod waits for its image takes effect.
func TestImagesAreToldLater(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1))
	about := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "gone", Labels: map[string]string{images.LabelImage: ""}},
		Data:       map[string]string{"image": "shop/gone:*", "pull-error": "not found"},
	}
	configMaps := c.Client().CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(t.Context(), about, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Second)
	pod := podNamed("web", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "shop/gone:v1" })
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Second)
	if got := podIn(t, c, "web").Status.ContainerStatuses[0].State.Waiting; got == nil || got.Reason != "ImagePullBackOff" {
		t.Errorf("it waits for %+v", got)
	}
	if err := configMaps.Delete(t.Context(), about.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Minute)
	if got := podIn(t, c, "web").Status.Phase; got != corev1.PodRunning {
		t.Errorf("it is %s", got)
	}
}
