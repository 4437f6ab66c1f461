package images

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

const (
	keyEntrypoint = "entrypoint"
	keyArgs       = "args"
	keyUser       = "user"
	// keyContent says whether the content of the image is contentKnown, or contentUnknown.
	keyContent     = "content"
	contentKnown   = "known"
	contentUnknown = "unknown"
	// programPrefix is the beginning of the keys of programs, before their names.
	programPrefix = "program."
	// programDir is the folder of an image's programs, besides the folder of its entrypoint.
	programDir = "/usr/local/bin"
)

// Content is the part of a profile that describes the image itself.
type Content struct {
	// Entrypoint is the command of containers without a command of their own. Args are the
	// arguments of containers with neither command nor arguments.
	Entrypoint, Args []string
	// UID and GID are the image's user; nil: root.
	UID, GID *int64
	// Known means that a profile describes the image, so that nothing else is in it.
	Known bool
	// programs are scripts for the simulated shell, by name.
	programs map[string]string
}

func contentOf(data map[string]string) Content {
	c := Content{Entrypoint: lines(data[keyEntrypoint]), Args: lines(data[keyArgs])}
	user, group, _ := strings.Cut(strings.TrimSpace(data[keyUser]), ":")
	c.UID, c.GID = idOf(user), idOf(group)
	c.Known = describes(data)
	for key, text := range data {
		if name, ok := strings.CutPrefix(key, programPrefix); ok && name != "" {
			if c.programs == nil {
				c.programs = map[string]string{}
			}
			c.programs[name] = text
		}
	}
	return c
}

// describes reports whether a profile describes what is in the image, and not only its pulls. The key content
// says so where that is not meant.
func describes(data map[string]string) bool {
	switch strings.TrimSpace(data[keyContent]) {
	case contentKnown:
		return true
	case contentUnknown:
		return false
	}
	for key := range data {
		switch key {
		case "image", "command", "size", "pull-error", "pull-duration":
		default:
			return true
		}
	}
	return len(data) == 1
}

// lines returns the words of a text with one word a line.
func lines(text string) []string {
	var words []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			words = append(words, line)
		}
	}
	return words
}

func idOf(text string) *int64 {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id >= 0 {
		return &id
	}
	return nil
}

// under adds what another profile declares and c does not.
func (c *Content) under(other *Content) {
	if c.Entrypoint == nil && c.Args == nil {
		c.Entrypoint, c.Args = other.Entrypoint, other.Args
	}
	if c.UID == nil {
		c.UID, c.GID = other.UID, other.GID
	}
	c.Known = c.Known || other.Known
	if len(other.programs) > 0 {
		all := maps.Clone(other.programs)
		maps.Copy(all, c.programs)
		c.programs = all
	}
}

// Of returns the content of a container's image.
func (b *Profiles) Of(c *corev1.Container) Content {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.ofLocked(c)
}

func (b *Profiles) ofLocked(c *corev1.Container) Content {
	var all Content
	for i := range b.order {
		if b.order[i].isOf(c) {
			all.under(&b.order[i].content)
		}
	}
	return all
}

// File is a file of an image.
type File struct {
	Text string
	Mode fs.FileMode
}

// dirs returns where the image's programs are: in programDir, and beside the entrypoint.
func (c *Content) dirs() []string {
	dirs := []string{programDir}
	if len(c.Entrypoint) > 0 && path.IsAbs(c.Entrypoint[0]) && path.Dir(c.Entrypoint[0]) != programDir {
		dirs = append(dirs, path.Dir(c.Entrypoint[0]))
	}
	return dirs
}

// Files adds the programs of the image to its files.
func (c *Content) Files(files map[string]File) map[string]File {
	if len(c.programs) == 0 {
		return files
	}
	all := map[string]File{}
	for name, text := range c.programs {
		for _, dir := range c.dirs() {
			all[path.Join(dir, name)] = File{text, 0o755}
		}
	}
	maps.Copy(all, files)
	return all
}

// script returns a command line whose program is one of the image's as one of the shell that
// interprets it.
func (c *Content) script(words []string) []string {
	if len(words) == 0 {
		return words
	}
	dir, name := path.Split(words[0])
	if _, ok := c.programs[name]; !ok || dir != "" && !slices.Contains(c.dirs(), path.Clean(dir)) {
		return words
	}
	file := words[0]
	if dir == "" {
		file = path.Join(programDir, name)
	}
	return append([]string{"sh", file}, words[1:]...)
}

// complete sets the commands of a container and of its exec probes to the ones that its image
// executes. It reports whether it changed the container. It replaces the container's fields, and
// does not modify the values that they point to.
func (c *Content) complete(of *corev1.Container) bool {
	command, args := of.Command, of.Args
	if len(command) == 0 && len(c.Entrypoint) > 0 {
		command = c.Entrypoint
	}
	if len(of.Command) == 0 && len(args) == 0 {
		args = c.Args
	}
	command = c.script(command)
	changed := !slices.Equal(command, of.Command) || !slices.Equal(args, of.Args)
	of.Command, of.Args = command, args
	for _, probe := range []**corev1.Probe{&of.LivenessProbe, &of.ReadinessProbe, &of.StartupProbe} {
		if *probe != nil && (*probe).Exec != nil {
			if words := c.script((*probe).Exec.Command); len(words) != len((*probe).Exec.Command) {
				*probe = (*probe).DeepCopy()
				(*probe).Exec.Command = words
				changed = true
			}
		}
	}
	return changed
}

// completedLocked returns the pod with its containers' commands completed by their images. It does not
// modify the pod.
func (b *Profiles) completedLocked(pod *corev1.Pod) *corev1.Pod {
	var copied *corev1.Pod
	for _, ref := range podspec.Containers(pod) {
		content := b.ofLocked(ref.Container)
		if len(content.Entrypoint)+len(content.Args)+len(content.programs) == 0 {
			continue
		}
		c := *ref.Container
		if !content.complete(&c) {
			continue
		}
		if copied == nil {
			copied = withOwnContainers(pod)
		}
		replace(copied, &c)
	}
	if copied == nil {
		return pod
	}
	return copied
}

// replace replaces the container of that name.
func replace(pod *corev1.Pod, c *corev1.Container) {
	for _, all := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range all {
			if all[i].Name == c.Name {
				all[i] = *c
			}
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if own := &pod.Spec.EphemeralContainers[i]; own.Name == c.Name {
			own.EphemeralContainerCommon = corev1.EphemeralContainerCommon(*c)
		}
	}
}

// withOwnContainers returns a copy of the pod whose containers may be changed.
func withOwnContainers(pod *corev1.Pod) *corev1.Pod {
	copied := *pod
	copied.Spec.Containers = slices.Clone(pod.Spec.Containers)
	copied.Spec.InitContainers = slices.Clone(pod.Spec.InitContainers)
	copied.Spec.EphemeralContainers = slices.Clone(pod.Spec.EphemeralContainers)
	return &copied
}
