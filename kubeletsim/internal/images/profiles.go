package images

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/kubeletsim/internal/annotations"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
)

// LabelImage marks a ConfigMap, in any namespace and with any value, as an image profile: it
// declares what the containers of an image do, as annotations of their pods could. Its data:
//
//   - image: references, one a line, in which * matches any text;
//   - command: prefixes of command lines to which the profile applies, in the same syntax;
//     without it, the profile applies to containers without a command of their own;
//   - files, pull-error, pull-duration, exit-after, exit-code, stop-delay, ready-delay, log,
//     log-every, http, grpc, server and traffic: the values of the annotations minikcm.dev/... of these names;
//     size: the value of minikcm.dev/image-size. files, pull-error, pull-duration and size apply to
//     the image, whatever the command;
//   - entrypoint and args: the image's command and arguments, one word a line; user: its UID,
//     or UID:GID; program.NAME: a script that is the image's program NAME (Content);
//   - content: known or unknown. By default, a profile that declares anything but pulls describes all that is
//     in the image.
//
// A pod's own annotations take precedence, then the ConfigMaps in the order of their names.
const LabelImage = "minikcm.dev/image"

// ofImages returns the annotations that apply to an image whatever its command, ofProcesses the
// annotations that apply to a command.
func ofImages() []string {
	return []string{podspec.AnnotationFiles, podspec.AnnotationPullError, podspec.AnnotationPullDuration, podspec.AnnotationImageSize}
}

// keyOf returns the key of a ConfigMap for an annotation.
func keyOf(annotation string) string {
	if annotation == podspec.AnnotationImageSize {
		return "size"
	}
	return strings.TrimPrefix(annotation, "minikcm.dev/")
}

func ofProcesses() []string {
	return []string{podspec.AnnotationExitAfter, podspec.AnnotationExitCode, podspec.AnnotationStopDelay, podspec.AnnotationReadyDelay, podspec.AnnotationLog, podspec.AnnotationLogEvery, responses.AnnotationHTTP, responses.AnnotationGRPC, servers.Annotation, traffic.Annotation}
}

// Profiles are the image profiles that ConfigMaps declare.
type Profiles struct {
	mu     sync.RWMutex
	byName map[types.NamespacedName]profile
	// order has the profiles by namespace and name.
	order []profile
	// changes counts the changes of order.
	changes atomic.Uint64
	// catalog has profiles for images that no ConfigMap describes; nil: there is none.
	catalog *Catalog
}

// UseCatalog sets the catalog. It must be called before anything else.
func (b *Profiles) UseCatalog(c *Catalog) { b.catalog = c }

// profile is the content of one ConfigMap.
type profile struct {
	name types.NamespacedName
	// title names the profile for people.
	title          string
	image, command []*regexp.Regexp
	annotations    map[string]string // by annotation
	content        Content
	// describes means that it has more than pulls of the image.
	describes bool
}

// Update reads a ConfigMap and reports whether the profiles changed.
func (b *Profiles) Update(c *corev1.ConfigMap) bool {
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if _, marked := c.Labels[LabelImage]; !marked || c.Data["image"] == "" {
		return b.Forget(name)
	}
	page := newProfile(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byName == nil {
		b.byName = map[types.NamespacedName]profile{}
	}
	b.byName[name] = page
	b.sort()
	return true
}

// newProfile reads a profile.
func newProfile(c *corev1.ConfigMap) profile {
	page := profile{
		name: types.NamespacedName{Namespace: c.Namespace, Name: c.Name}, image: patterns(c.Data["image"], ""), command: patterns(c.Data["command"], ".*"),
		annotations: map[string]string{}, content: contentOf(c.Data), describes: describes(c.Data),
	}
	if page.title = "the profile in ConfigMap " + page.name.String(); c.Namespace == "" {
		page.title = "the catalog's profile " + c.Name
	}
	for _, key := range append(ofImages(), ofProcesses()...) {
		if value, ok := c.Data[keyOf(key)]; ok && annotations.Check(key, value) == nil {
			page.annotations[key] = value
		}
	}
	return page
}

// Problem is a value of a profile that cannot be parsed, or a key that none has.
type Problem struct {
	// Key is the key of the value; empty for the whole profile.
	Key string
	// Field is the field of the key server in which the error is; empty: in none, or another key has it.
	Field string
	Err   error
}

// String says that the value, or the profile, has no effect, and why.
func (p Problem) String() string {
	return cmp.Or(p.Key, "the profile") + " is ignored: " + p.Err.Error()
}

// Why says what is wrong with the field, without a line of the text.
func (p Problem) Why() error {
	if p.Key != keyOf(servers.Annotation) {
		return p.Err
	}
	_, why := servers.FieldOf(p.Err)
	return why
}

// Invalid returns the values of a profile that cannot be parsed, and the keys that nothing reads.
func Invalid(c *corev1.ConfigMap) []Problem {
	var bad []Problem
	if strings.TrimSpace(c.Data["image"]) == "" {
		bad = append(bad, Problem{Err: errors.New("it has no key image, with the references of the images that it describes")})
	}
	for _, annotation := range append(ofImages(), ofProcesses()...) {
		if text, ok := c.Data[keyOf(annotation)]; ok {
			if err := annotations.Check(annotation, text); err != nil {
				p := Problem{Key: keyOf(annotation), Err: err}
				p.Field, _ = servers.FieldOf(err)
				bad = append(bad, p)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		err := checkContent(key, c.Data[key])
		if !isKey(key) {
			err = errors.New("profiles have no such key")
			if near := spell.Nearest(key, keys()); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
		}
		if err != nil {
			bad = append(bad, Problem{Key: key, Err: err})
		}
	}
	return bad
}

// keys returns the keys of a profile, without the names of programs.
func keys() []string {
	all := []string{"image", "command", keyEntrypoint, keyArgs, keyUser, keyContent}
	for _, annotation := range append(ofImages(), ofProcesses()...) {
		all = append(all, keyOf(annotation))
	}
	return all
}

// isKey reports whether a profile has the key, or may have it, as the name of a program.
func isKey(key string) bool {
	name, program := strings.CutPrefix(key, programPrefix)
	return program && name != "" || slices.Contains(keys(), key)
}

// checkContent returns what is wrong with a value that describes the image itself.
func checkContent(key, text string) error {
	switch key {
	case keyContent:
		if is := strings.TrimSpace(text); is != contentKnown && is != contentUnknown {
			return fmt.Errorf("%q is neither %s nor %s", is, contentKnown, contentUnknown)
		}
	case keyUser:
		user, group, grouped := strings.Cut(strings.TrimSpace(text), ":")
		if idOf(user) == nil || grouped && idOf(group) == nil {
			return fmt.Errorf("%q is neither a UID nor UID:GID", text)
		}
	}
	if name, ok := strings.CutPrefix(key, programPrefix); ok && name != "" && isShell(text) {
		return shelltree.Check(text)
	}
	return nil
}

// isShell reports whether the first line of a script names no other interpreter than a shell.
func isShell(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	interpreter, named := strings.CutPrefix(line, "#!")
	return !named || slices.ContainsFunc(strings.Fields(interpreter), func(word string) bool {
		name := path.Base(word)
		return name == "sh" || name == "bash" || name == "ash" || name == "dash"
	})
}

// Forget removes the profile of a deleted ConfigMap and reports whether there was one.
func (b *Profiles) Forget(name types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.byName[name]; !known {
		return false
	}
	delete(b.byName, name)
	b.sort()
	return true
}

// Changes returns a number that changes with the profiles.
func (b *Profiles) Changes() uint64 { return b.changes.Load() }

func (b *Profiles) sort() {
	b.changes.Add(1)
	b.order = slices.SortedFunc(maps.Values(b.byName), func(x, y profile) int { return strings.Compare(x.name.String(), y.name.String()) })
}

// patterns compiles the patterns of a text, one a line. end is a regular expression for what
// may follow a match.
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

// Annotate returns the pod with the annotations of its images' profiles added, and with the
// commands that its containers execute. It does not modify the pod.
func (b *Profiles) Annotate(pod *corev1.Pod) *corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.order) == 0 && b.catalog == nil {
		return pod
	}
	own, added := pod.Annotations, map[string]string(nil)
	for _, ref := range podspec.Containers(pod) {
		for i := range b.order {
			page := &b.order[i]
			if !page.isOf(ref.Container) {
				continue
			}
			if page.content.Known {
				if added == nil {
					added = map[string]string{}
				}
				added[podspec.AnnotationKnownContent(ref.Name)] = ""
			}
			added = page.addTo(added, own, ref)
		}
		if page := b.fromCatalog(ref, own); page != nil {
			added = page.addTo(added, own, ref)
		}
	}
	completed := b.completedLocked(pod)
	if added == nil {
		return completed
	}
	maps.Copy(added, own)
	annotated := *completed
	annotated.Annotations = added
	return &annotated
}

// addTo adds the annotations of the profile, which describes the container's image, that the container does not have.
func (p *profile) addTo(added, own map[string]string, ref podspec.Container) map[string]string {
	for key, value := range p.annotationsFor(ref.Container) {
		name := key + "." + ref.Name
		if _, known := added[name]; known || declares(own, key, ref) {
			continue
		}
		if added == nil {
			added = map[string]string{}
		}
		added[name] = value
		if key == servers.Annotation || key == responses.AnnotationHTTP || key == responses.AnnotationGRPC {
			added[podspec.AnnotationProfile(name)] = p.title
		}
	}
	return added
}

// declares reports whether a pod's own annotations have one for a container.
func declares(own map[string]string, key string, ref podspec.Container) bool {
	if _, named := own[key+"."+ref.Name]; named {
		return true
	}
	_, forAll := own[key]
	return forAll && ref.Kind != podspec.InitContainer
}

// fromCatalog returns the catalog's profile of a container; nil if there is none, if a ConfigMap describes the image, or if the pod's
// own annotations say what the container answers. It requires the lock.
func (b *Profiles) fromCatalog(ref podspec.Container, own map[string]string) *profile {
	page := b.catalog.of(ref.Image)
	if page == nil || declares(own, responses.AnnotationHTTP, ref) || declares(own, responses.AnnotationGRPC, ref) {
		return nil
	}
	for i := range b.order {
		if b.order[i].describes && b.order[i].isOf(ref.Container) {
			return nil
		}
	}
	return page
}

// isOf reports whether the profile describes the container's image, in any spelling.
func (p *profile) isOf(c *corev1.Container) bool {
	return slices.ContainsFunc(spellings(c.Image), func(image string) bool { return matches(p.image, image) })
}

// annotationsFor returns the annotations of the profile that apply to a container of an image that it describes.
func (p *profile) annotationsFor(c *corev1.Container) map[string]string {
	runs := len(c.Command) == 0
	if len(p.command) > 0 {
		runs = matches(p.command, strings.Join(podspec.CommandLine(c.Command, c.Args), " "))
	}
	if runs {
		return p.annotations
	}
	found := map[string]string{}
	for _, key := range ofImages() {
		if value, ok := p.annotations[key]; ok {
			found[key] = value
		}
	}
	return found
}
