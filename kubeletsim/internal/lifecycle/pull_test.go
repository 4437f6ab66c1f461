package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// TestPullsThatTakeTime: the lines are the events about images, and the time at which the pod
// becomes ready.
func TestPullsThatTakeTime(t *testing.T) {
	slow := podtest.Annotated("pull-duration", "20s", "image-size", "120Mi")
	images := func(names ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			for i, name := range names {
				if i == len(pod.Spec.Containers) {
					pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "second", ImagePullPolicy: corev1.PullIfNotPresent})
				}
				pod.Spec.Containers[i].Image = name
			}
		}
	}
	policy := func(p corev1.PullPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].ImagePullPolicy = p }
	}
	const (
		pulling = `Pulling image "shop:1"`
		pulled  = `Successfully pulled image "shop:1" in 20s (20s including waiting). Image size: 125829120 bytes.`
	)
	minute := func(w *world) { w.until(time.Minute) }
	tests := []struct {
		name   string
		change []func(*corev1.Pod)
		do     func(*world)
		want   []string
	}{
		{"not there yet", []func(*corev1.Pod){images("shop:1"), slow}, minute, []string{"0s " + pulling, "20s " + pulled, "20s ready"}},
		{"there", []func(*corev1.Pod){slow}, minute, []string{`0s Container image "nginx" already present on machine and can be accessed by the pod`, "0s ready"}},
		{"never pulled", []func(*corev1.Pod){images("shop:1"), slow, policy(corev1.PullNever)}, minute, []string{`0s Container image "shop:1" already present on machine and can be accessed by the pod`, "0s ready"}},
		{"there, and always pulled", []func(*corev1.Pod){slow, policy(corev1.PullAlways)}, minute, []string{
			`0s Pulling image "nginx"`, `0s Successfully pulled image "nginx" in 0s (0s including waiting). Image size: 125829120 bytes.`, "0s ready",
		}},
		{"of two containers", []func(*corev1.Pod){images("shop:1", "shop:1"), slow}, minute, []string{
			"0s " + pulling, "20s " + pulled, `20s Container image "shop:1" already present on machine and can be accessed by the pod`, "20s ready",
		}},
		{"one after the other", []func(*corev1.Pod){images("shop:1", "shop:2"), slow}, minute, []string{
			"0s " + pulling, "20s " + pulled, `20s Pulling image "shop:2"`, "40s " + strings.Replace(pulled, "shop:1", "shop:2", 1), "40s ready",
		}},
		{"without end", []func(*corev1.Pod){images("shop:1"), podtest.Annotated("pull-duration", "never")}, minute, []string{"0s " + pulling}},
		{"no duration", []func(*corev1.Pod){images("shop:1"), podtest.Annotated("pull-duration", "long", "image-size", "-1")}, minute, []string{
			`0s annotation minikcm.dev/pull-duration is ignored: "long" is not a duration such as 5s, nor never`,
			`0s annotation minikcm.dev/image-size is ignored: "-1" is negative`,
			"0s " + pulling, `0s Successfully pulled image "shop:1" in 0s (0s including waiting). Image size: 0 bytes.`, "0s ready",
		}},
		{"looked at meanwhile", []func(*corev1.Pod){images("shop:1"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.images["shop:1"] = true
			w.step()
			w.until(time.Minute)
		}, []string{"0s " + pulling, "20s " + pulled, "20s ready"}},
		{"deleted meanwhile", []func(*corev1.Pod){images("shop:1"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.delete(30 * time.Second)
			w.until(time.Minute)
		}, []string{"0s " + pulling}},
		{"another image meanwhile", []func(*corev1.Pod){images("shop:1"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.pod.Spec.Containers[0].Image = "shop:2"
			w.step()
			w.until(time.Minute)
		}, []string{"0s " + pulling, `5s Pulling image "shop:2"`, "25s " + strings.Replace(pulled, "shop:1", "shop:2", 1), "25s ready"}},
		{"with a name that cannot be read", []func(*corev1.Pod){images("shop:${TAG}"), slow}, minute, []string{
			`0s Failed to apply default image tag "shop:${TAG}": couldn't parse image name "shop:${TAG}": invalid reference format`, "0s Error: InvalidImageName",
		}},
		{"with a name that is mended", []func(*corev1.Pod){images("Shop"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.pod.Spec.Containers[0].Image = "shop:1"
			w.step()
			w.until(time.Minute)
		}, []string{
			`0s Failed to apply default image tag "Shop": couldn't parse image name "Shop": invalid reference format: repository name (library/Shop) must be lowercase`, "0s Error: InvalidImageName",
			"5s " + pulling, "25s " + pulled, "25s ready",
		}},
		{"a name that cannot be read meanwhile", []func(*corev1.Pod){images("shop:1"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.pod.Spec.Containers[0].Image = "shop:"
			w.step()
			w.until(time.Minute)
		}, []string{"0s " + pulling, `5s Failed to apply default image tag "shop:": couldn't parse image name "shop:": invalid reference format`, "5s Error: InvalidImageName"}},
		{"the node restarts meanwhile", []func(*corev1.Pod){images("shop:1"), slow}, func(w *world) {
			w.until(5 * time.Second)
			w.step(Occurrence{Kind: Reboot})
			w.until(time.Minute)
		}, []string{"0s " + pulling, "5s Pod sandbox changed, it will be killed and re-created.", "5s " + pulling, "25s " + pulled, "25s ready"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(podtest.Pod("web", "node-0", tt.change...))
			w.step()
			tt.do(w)
			var got []string
			for line := range strings.Lines(w.log.String()) {
				at, text, _ := strings.Cut(strings.TrimSpace(line), "  ")
				if _, message, isEvent := strings.Cut(text, ": "); isEvent && (strings.Contains(message, "mage") || strings.Contains(message, "ignored") || strings.Contains(message, "sandbox")) {
					got = append(got, at+" "+message)
				} else if !isEvent && strings.Contains(text, ",ready") && !strings.Contains(text, "!") {
					got = append(got, at+" ready")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, w.log.String())
			}
		})
	}
}
