package usage

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// contender is a pod of one container, from "CPU REQUEST [LIMIT]"; "-" is none.
func contender(t *testing.T, text string) []Container {
	t.Helper()
	words := append(strings.Fields(text), "-")
	of := func(text string) corev1.ResourceList {
		if text == "-" {
			return nil
		}
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	annotations := map[string]string{AnnotationCPU: words[0]}
	if words[0] == "-" {
		annotations = nil
	}
	used, known := Model{}.Containers(usedPod("a", annotations, containerWith("web", of(words[1]), of(words[2]))), nil, usageNow)
	if !known {
		t.Fatalf("%s: unknown", text)
	}
	return used
}

func TestShareCPU(t *testing.T) {
	tests := []struct {
		name, capacity string
		// pods are "CPU REQUEST [LIMIT]" of one container each.
		pods []string
		want string
	}{
		{"an idle node", "4", []string{"1 100m", "2 -", "- 500m"}, "1 2 250m"},
		{"exactly full", "4", []string{"3 100m", "1 -"}, "3 1"},
		{"equals get the same", "4", []string{"4 500m", "4 500m"}, "2 2"},
		{"in proportion to requests", "4", []string{"4 1", "4 3"}, "1 3"},
		{"the rest in proportion, too", "8", []string{"8 1", "8 3"}, "2 6"},
		{"requests are sure", "2", []string{"2 1500m", "2 -", "2 -"}, "1998701298n 649350n 649350n"},
		{"unused requests are for others", "4", []string{"500m 3", "4 1", "4 -"}, "500m 3495126705n 4873294n"},
		{"what one does not want goes to others", "4", []string{"700m 500m", "4 500m", "4 1"}, "700m 1100m 2200m"},
		{"limits hold", "4", []string{"4 1 1500m", "4 1"}, "1500m 2500m"},
		{"limits that leave CPU idle", "4", []string{"4 1 1", "4 1 1"}, "1 1"},
		{"BestEffort containers are equal", "1", []string{"1 -", "4 -"}, "500m 500m"},
		{"small requests count as no less than two shares", "1", []string{"1 1m", "1 -"}, "500500u 499500u"},
		{"pods without a load keep theirs", "2", []string{"- 1", "- -", "4 500m"}, "500m 1m 1499m"},
		{"a node that is too small for the requests", "2", []string{"4 3", "4 1", "- 4"}, "750m 250m 1"},
		{"no CPU", "0", []string{"4 3", "1 -"}, "0 0"},
	}
	for _, tt := range tests {
		var pods [][]Container
		for _, text := range tt.pods {
			pods = append(pods, contender(t, text))
		}
		capacity := resource.MustParse(tt.capacity)
		ShareCPU(capacity, pods)
		var got []string
		for _, used := range pods {
			got = append(got, used[0].CPU.String())
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
		if cpu, _ := OfNode(pods); cpu.Cmp(capacity) > 0 {
			t.Errorf("%s: the node uses %s of %s", tt.name, cpu.String(), tt.capacity)
		}
	}
}

func TestContends(t *testing.T) {
	for text, want := range map[string]bool{"- -": false, "- 1": false, "1 1": false, "500m 1": false, "2 1": true, "2 1 1": false, "1m -": true} {
		if got := Contends(contender(t, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestShareCPUProperties: a node is never used beyond its capacity, leaves no CPU idle that a
// container wants, takes nothing from requests, and gives no container more than it wants.
func TestShareCPUProperties(t *testing.T) {
	seed := uint64(1)
	random := func(n uint64) uint64 { seed = mix(seed + 0x9e3779b97f4a7c15); return seed % n }
	for range 500 {
		var pods [][]Container
		requested, wanted := 0.0, 0.0
		for range 1 + random(12) {
			request := random(2000)
			pod := contender(t, fmt.Sprintf("%dm %dm", random(6000), request))
			pods = append(pods, pod)
			requested += float64(request) / 1000
			wanted += pod[0].cpu.wants
		}
		cores := requested + float64(random(4))
		ShareCPU(*resource.NewMilliQuantity(int64(cores*1000+0.5), resource.DecimalSI), pods)
		total := 0.0
		for _, pod := range pods {
			got, d := pod[0].CPU.AsApproximateFloat64(), pod[0].cpu
			total += got
			if got > d.wants+1e-9 || got < min(d.wants, d.sure)-1e-8 {
				t.Fatalf("a container that wants %v and requests %v gets %v", d.wants, d.sure, got)
			}
		}
		if total > cores+1e-9 || total < min(wanted, cores)-1e-7 {
			t.Fatalf("%v of %v CPUs are used, and %v wanted", total, cores, wanted)
		}
	}
}
