package images

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
)

// LabelRegistry marks a ConfigMap, in any namespace and with any value, as a list of the images that exist:
// its key images has references, one a line, in which * matches any text. A reference without a tag stands for
// every tag. As long as there is such a list, no other image can be pulled, except for images that a profile
// describes.
const LabelRegistry = "minikcm.dev/registry"

// RegistryKey is the key of the list in the ConfigMap.
const RegistryKey = "images"

// Registry knows which images exist. The zero value has all.
type Registry struct {
	mu    sync.RWMutex
	lists map[types.NamespacedName]registryList
}

type registryList struct{ references, repositories []*regexp.Regexp }

// Update reads a ConfigMap and reports whether the registry changed.
func (r *Registry) Update(c *corev1.ConfigMap) bool {
	name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if _, marked := c.Labels[LabelRegistry]; !marked {
		return r.Forget(name)
	}
	list := parseRegistry(c.Data[RegistryKey])
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists == nil {
		r.lists = map[types.NamespacedName]registryList{}
	}
	r.lists[name] = list
	return true
}

// Forget removes the list of a deleted ConfigMap and reports whether there was one.
func (r *Registry) Forget(name types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.lists[name]
	delete(r.lists, name)
	return known
}

func parseRegistry(text string) registryList {
	var list registryList
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		repository, tag := splitReference(qualified(line))
		if tag == "" && !strings.HasSuffix(line, "*") {
			list.references = append(list.references, compileReference(repository+":*"), compileReference(repository+"@*"))
		} else {
			list.references = append(list.references, compileReference(repository+tag))
		}
		list.repositories = append(list.repositories, compileReference(repository))
	}
	return list
}

func compileReference(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

// splitReference returns the repository of a reference, and its tag or digest with the separator before it.
func splitReference(reference string) (repository, tag string) {
	if i := strings.IndexByte(reference, '@'); i >= 0 {
		repository, tag = splitReference(reference[:i])
		return repository, tag + reference[i:]
	}
	if i := strings.LastIndexByte(reference, ':'); i > strings.LastIndexByte(reference, '/') {
		return reference[:i], reference[i:]
	}
	return reference, ""
}

// defaultRegistry is the registry of references without one, and officialImages its folder for names without
// a folder.
const (
	defaultRegistry = "docker.io/"
	officialImages  = "library/"
)

// qualified returns a reference with its registry, as a container runtime completes it: nginx and
// docker.io/nginx are docker.io/library/nginx.
func qualified(reference string) string {
	host, rest, several := strings.Cut(reference, "/")
	switch {
	case strings.HasPrefix(reference, "*"):
		return reference
	case several && host+"/" == defaultRegistry:
	case several && (strings.ContainsAny(host, ".:*") || host == "localhost" || host != strings.ToLower(host)):
		return reference
	default:
		rest = reference
	}
	if !strings.Contains(rest, "/") && !strings.HasPrefix(rest, "*") {
		rest = officialImages + rest
	}
	return defaultRegistry + rest
}

// spellings returns the references that mean the same image to a container runtime: with and without the tag
// latest, in full, and without the parts that a runtime completes.
func spellings(image string) []string {
	var all []string
	for _, reference := range slices.Compact([]string{image, podspec.ImageName(image)}) {
		full := qualified(reference)
		all = append(all, reference, full)
		if short, ok := strings.CutPrefix(full, defaultRegistry); ok {
			all = append(all, short)
			if name, official := strings.CutPrefix(short, officialImages); official {
				all = append(all, name, defaultRegistry+name)
			}
		}
	}
	return all
}

// Missing returns why an image cannot be pulled, in the words of containerd and its registry; empty if it
// exists.
func (r *Registry) Missing(image string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.lists) == 0 {
		return ""
	}
	full := qualified(podspec.ImageName(image))
	repository, _ := splitReference(full)
	known := false
	for _, list := range r.lists {
		if matches(list.references, full) {
			return ""
		}
		known = known || matches(list.repositories, repository)
	}
	failed := fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q: ", full, full)
	if !known && strings.HasPrefix(full, defaultRegistry) {
		return "rpc error: code = Unknown desc = " + failed +
			"pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed"
	}
	return "rpc error: code = NotFound desc = " + failed + full + ": not found"
}

// Describes reports whether a profile describes an image, which therefore exists.
func (b *Profiles) Describes(image string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.ContainsFunc(b.order, func(p profile) bool { return p.isOf(&corev1.Container{Image: image}) })
}
