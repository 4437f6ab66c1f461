package annotations_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/annotations"
)

func podWith(all map[string]string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Annotations = all
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	pod.Spec.Containers = []corev1.Container{{Name: "web"}, {Name: "side"}}
	return pod
}

func TestProblems(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 40 {
		many[fmt.Sprintf("minikcm.dev/zzzzzzzzz-%02d", i)] = ""
	}
	for name, tt := range map[string]struct {
		given map[string]string
		want  []string
	}{
		"fine": {map[string]string{
			"minikcm.dev/exit-code": "3", "minikcm.dev/cpu.web": "100m", "minikcm.dev/http.init": "80 / 200", "minikcm.dev/metric-rps": "5", "minikcm.dev/process": "h/1",
			"minikcm.dev/explain-scheduling": "true", "minikcm.dev/host": "127.0.0.1:80", "example.com/exit-cod": "x", "minikcm.dev/profile.server.web": "x",
		}, nil},
		"values": {map[string]string{"minikcm.dev/exit-code.web": "x", "minikcm.dev/exit-after": "soon", "minikcm.dev/metric-rps": "oops"}, []string{
			`annotation minikcm.dev/exit-after is ignored: "soon" is not a duration such as 5s, nor never`,
			`annotation minikcm.dev/exit-code.web is ignored: "x" is not an exit code from 0 to 255`,
			`annotation minikcm.dev/metric-rps is ignored: `,
		}},
		"a name":                {map[string]string{"minikcm.dev/exit-cod": "3"}, []string{"annotation minikcm.dev/exit-cod is ignored: nothing reads it; did you mean minikcm.dev/exit-code?"}},
		"a container":           {map[string]string{"minikcm.dev/cpu.wbe": "1"}, []string{"annotation minikcm.dev/cpu.wbe is ignored: nothing reads it; did you mean minikcm.dev/cpu.web?"}},
		"one for the whole pod": {map[string]string{"minikcm.dev/start-delay.web": "1s"}, []string{"annotation minikcm.dev/start-delay.web is ignored: nothing reads it; did you mean minikcm.dev/stop-delay.web?"}},
		"no similar name":       {map[string]string{"minikcm.dev/zzzzzzzzzzzz": ""}, []string{"annotation minikcm.dev/zzzzzzzzzzzz is ignored: nothing reads it"}},
		"many":                  {many, append(slices.Repeat([]string{"annotation minikcm.dev/zzzzzzzzz-"}, 10), "30 more annotations with minikcm.dev/ have names that nothing reads")},
	} {
		got := annotations.Problems(podWith(tt.given))
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// The table of docs/simulation.md and the table of the package have the same annotations of pods; other documents describe the rest.
func TestDocs(t *testing.T) {
	t.Parallel()
	text := ""
	for _, file := range []string{"simulation.md", "host-services.md", "scheduling.md"} {
		data, err := os.ReadFile("../../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	known := annotations.Known()
	for _, row := range regexp.MustCompile("(?m)^\\| `(minikcm\\.dev/[a-z-]+)(?:NAME)?` \\|").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(known, func(a annotations.Annotation) bool { return a.Key == row[1] }) {
			t.Errorf("docs/simulation.md has %s, which nothing reads", row[1])
		}
	}
	for _, a := range known {
		if !a.Internal && !strings.Contains(text, a.Key) {
			t.Errorf("the documents do not have %s", a.Key)
		}
	}
}
