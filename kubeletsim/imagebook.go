package kubeletsim

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/responses"
)

// LabelImage marks a ConfigMap, in any namespace and with any value, that tells what the
// containers of an image do, as the annotations of their pods could. Its data:
//
//   - image: references, one a line, in which * stands for any text;
//   - command: the beginnings of command lines for which the rest holds, in the same way;
//     without it, the rest holds for containers that bring no command of their own;
//   - files, pull-error, exit-after, exit-code, stop-delay, ready-delay, log, log-every, http
//     and grpc: as the annotation minikcm.dev/ of that name. files and pull-error are of the
//     image, and hold for every command.
//
// What a pod says of itself goes first, then the ConfigMaps in the order of their names.
const LabelImage = "minikcm.dev/image"

// AnnotationFiles are files that a container's image has, one a line: a path and a text.
const AnnotationFiles = "minikcm.dev/files"

// ofImages are the annotations that hold for an image, whatever the command; ofProcesses
// those of what a command does.
func ofImages() []string { return []string{AnnotationFiles, podspec.AnnotationPullError} }

func ofProcesses() []string {
	return []string{podspec.AnnotationExitAfter, podspec.AnnotationExitCode, podspec.AnnotationStopDelay, podspec.AnnotationReadyDelay, podspec.AnnotationLog, podspec.AnnotationLogEvery, responses.AnnotationHTTP, responses.AnnotationGRPC}
}

// imageBook is what ConfigMaps tell of images.
type imageBook struct {
	mu     sync.RWMutex
	byName map[types.NamespacedName]imagePage
	// order are the pages by namespace and name.
	order []imagePage
}

// imagePage is one ConfigMap.
type imagePage struct {
	name           types.NamespacedName
	image, command []*regexp.Regexp
	tells          map[string]string // by annotation
}

// read takes note of a ConfigMap; true if it changed what is told.
func (b *imageBook) read(c *corev1.ConfigMap) bool {
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if _, marked := c.Labels[LabelImage]; !marked || c.Data["image"] == "" {
		return b.forget(name)
	}
	page := imagePage{name: name, image: patterns(c.Data["image"], ""), command: patterns(c.Data["command"], ".*"), tells: map[string]string{}}
	for _, key := range append(ofImages(), ofProcesses()...) {
		if value, ok := c.Data[strings.TrimPrefix(key, "minikcm.dev/")]; ok {
			page.tells[key] = value
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byName == nil {
		b.byName = map[types.NamespacedName]imagePage{}
	}
	b.byName[name] = page
	b.sort()
	return true
}

// forget is read for a ConfigMap that is gone.
func (b *imageBook) forget(name types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.byName[name]; !known {
		return false
	}
	delete(b.byName, name)
	b.sort()
	return true
}

func (b *imageBook) sort() {
	b.order = slices.SortedFunc(maps.Values(b.byName), func(x, y imagePage) int { return strings.Compare(x.name.String(), y.name.String()) })
}

// patterns are those of a text, one a line; end is what may follow them.
func patterns(text, end string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(line), `\*`, ".*")+end+"$"))
		}
	}
	return all
}

func matches(all []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(all, func(r *regexp.Regexp) bool { return r.MatchString(text) })
}

// annotate adds to a pod's annotations what is told of its images. The pod itself is not
// changed.
func (b *imageBook) annotate(pod *corev1.Pod) *corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.order) == 0 {
		return pod
	}
	own, added := pod.Annotations, map[string]string(nil)
	for _, ref := range podspec.Containers(pod) {
		for _, page := range b.order {
			for key, value := range page.tellsOf(ref.Container) {
				name := key + "." + ref.Name
				_, told := own[name]
				if _, forAll := own[key]; forAll && ref.Kind != podspec.InitContainer {
					told = true
				}
				if _, known := added[name]; told || known {
					continue
				}
				if added == nil {
					added = map[string]string{}
				}
				added[name] = value
			}
		}
	}
	if added == nil {
		return pod
	}
	maps.Copy(added, own)
	annotated := *pod
	annotated.Annotations = added
	return &annotated
}

// tellsOf is what holds for a container.
func (p *imagePage) tellsOf(c *corev1.Container) map[string]string {
	if !matches(p.image, c.Image) && !matches(p.image, podspec.ImageName(c.Image)) {
		return nil
	}
	runs := len(c.Command) == 0
	if len(p.command) > 0 {
		runs = matches(p.command, strings.Join(podspec.CommandLine(c.Command, c.Args), " "))
	}
	if runs {
		return p.tells
	}
	tells := map[string]string{}
	for _, key := range ofImages() {
		if value, ok := p.tells[key]; ok {
			tells[key] = value
		}
	}
	return tells
}

// imageFiles are those that AnnotationFiles tells of a container.
func imageFiles(pod *corev1.Pod, ref podspec.Container) map[string]string {
	text, ok := podspec.Annotations{Pod: pod, Container: ref.Name, NamedOnly: ref.Kind == podspec.InitContainer}.Get(AnnotationFiles)
	if !ok {
		return nil
	}
	files := map[string]string{}
	for line := range strings.Lines(text) {
		path, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(path, "/") {
			files[path] = content + "\n"
		}
	}
	return files
}
