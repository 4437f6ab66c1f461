package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// Prefix begins the names of the annotations.
const Prefix = "minikcm.dev/"

// Annotation is one that the simulation reads on pods, or writes on them.
type Annotation struct {
	// Key is the name, or its beginning if the annotation Continues.
	Key string
	// Check returns what is wrong with a value; nil: any value is possible.
	Check func(text string) error
	// OfContainer means that a dot and the name of a container may follow.
	OfContainer bool
	// Continues means that any text follows, such as the name of a metric.
	Continues bool
	// Internal means that the simulation writes it.
	Internal bool
}

// reads makes a check of a parser.
func reads[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// Known returns the table, in the order in which problems are reported. It must not be changed.
func Known() []Annotation { return table }

var duration, load = reads(podspec.ParseDuration), reads(usage.ParseLoad)

var table = []Annotation{
	{Key: podspec.AnnotationStartDelay, Check: duration},
	{Key: podspec.AnnotationReadyDelay, Check: duration, OfContainer: true},
	{Key: podspec.AnnotationExitAfter, Check: duration, OfContainer: true},
	{Key: podspec.AnnotationExitCode, Check: reads(podspec.ParseExitCode), OfContainer: true},
	{Key: podspec.AnnotationStopDelay, Check: duration, OfContainer: true},
	{Key: podspec.AnnotationLog, OfContainer: true},
	{Key: podspec.AnnotationLogEvery, Check: duration, OfContainer: true},
	{Key: podspec.AnnotationPullError, OfContainer: true},
	{Key: podspec.AnnotationPullDuration, Check: duration, OfContainer: true},
	{Key: podspec.AnnotationImageSize, Check: reads(podspec.ParseBytes), OfContainer: true},
	{Key: podspec.AnnotationFiles, OfContainer: true},
	{Key: usage.AnnotationCPU, Check: load, OfContainer: true},
	{Key: usage.AnnotationMemory, Check: load, OfContainer: true},
	{Key: usage.AnnotationEphemeralStorage, Check: load, OfContainer: true},
	{Key: usage.AnnotationPIDs, Check: load, OfContainer: true},
	{Key: responses.AnnotationHTTP, Check: reads(responses.ParseHTTP), OfContainer: true},
	{Key: responses.AnnotationGRPC, Check: reads(responses.ParseGRPC), OfContainer: true},
	{Key: servers.Annotation, Check: reads(servers.Parse), OfContainer: true},
	{Key: traffic.Annotation, Check: reads(traffic.ParseProfile), OfContainer: true},
	{Key: usage.AnnotationMetric, Check: load, Continues: true},
	{Key: hostaddress.Annotation},
	{Key: hostaddress.ProbesAnnotation},
	{Key: Prefix + "explain-scheduling"},                  // the scheduler reads it
	{Key: Prefix + "scheduling-decision", Internal: true}, // the scheduler writes it
	{Key: Prefix + "process"},                             // minikcm run-deployment writes it
	{Key: podspec.AnnotationManifest, Internal: true},
	{Key: podspec.AnnotationKnownContent(""), Continues: true, Internal: true},
	{Key: podspec.AnnotationProfile(""), Continues: true, Internal: true},
}

// Check returns what is wrong with the value of an annotation.
func Check(key, text string) error {
	for _, a := range Known() {
		if a.Key == key && a.Check != nil {
			return a.Check(text)
		}
	}
	return nil
}

// maxUnknown caps the misspelled annotations of a pod that are reported.
const maxUnknown = 10

// Problems describes the annotations of a pod that have no effect: values that cannot be read, in the order of the table, and then names
// that nothing reads.
func Problems(pod *corev1.Pod) []string {
	var own []string
	for key := range pod.Annotations {
		if strings.HasPrefix(key, Prefix) {
			own = append(own, key)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.Sort(own)
	containers := containersOf(pod)
	var bad []string
	used := map[string]bool{}
	for _, a := range Known() {
		for _, key := range own {
			if !a.has(key, containers) {
				continue
			}
			used[key] = true
			if a.Check == nil {
				continue
			}
			if err := a.Check(pod.Annotations[key]); err != nil {
				bad = append(bad, fmt.Sprintf("annotation %s is ignored: %v", key, err))
			}
		}
	}
	return append(bad, unknown(slices.DeleteFunc(own, func(key string) bool { return used[key] }), containers)...)
}

// has reports whether the annotation has a name.
func (a *Annotation) has(name string, containers map[string]bool) bool {
	rest, ok := strings.CutPrefix(name, a.Key)
	if !ok || rest == "" {
		return ok
	}
	container, dotted := strings.CutPrefix(rest, ".")
	return a.Continues || a.OfContainer && dotted && containers[container]
}

func containersOf(pod *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for _, ref := range podspec.Containers(pod) {
		names[ref.Name] = true
	}
	return names
}

// unknown describes names that nothing reads, with the name that each most likely means.
func unknown(keys []string, containers map[string]bool) []string {
	var bad, known []string
	for _, key := range keys {
		if len(bad) == maxUnknown {
			return append(bad, fmt.Sprintf("%d more annotations with %s have names that nothing reads", len(keys)-maxUnknown, Prefix))
		}
		if known == nil {
			known = names(containers)
		}
		text := fmt.Sprintf("annotation %s is ignored: nothing reads it", key)
		if near := spell.Nearest(strings.TrimPrefix(key, Prefix), known); near != "" {
			text += "; did you mean " + Prefix + near + "?"
		}
		bad = append(bad, text)
	}
	return bad
}

// names returns the names that a user may write, without the prefix.
func names(containers map[string]bool) []string {
	var list []string
	for _, a := range Known() {
		if a.Internal {
			continue
		}
		name := strings.TrimPrefix(a.Key, Prefix)
		if list = append(list, name); a.OfContainer {
			for _, container := range slices.Sorted(maps.Keys(containers)) {
				list = append(list, name+"."+container)
			}
		}
	}
	return list
}
