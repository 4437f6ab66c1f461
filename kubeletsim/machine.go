package kubeletsim

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/box"
	"minikcm.dev/minikcm/kubeletsim/images"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/memfs"
	"minikcm.dev/minikcm/kubeletsim/podcertificates"
	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/shell"
)

// podFiles are the files and processes of one pod's containers.
type podFiles struct {
	mu sync.Mutex
	// volumes live as long as the pod, by name. roots are the containers' root file systems, by
	// container.
	volumes map[string]*memfs.Tree
	roots   map[string]containerRoot
	// consoles are the processes that clients have attached to, by container.
	consoles map[string]*console
	// runs are the live processes, the present and the last of each container.
	runs map[string][]*liveRun
	// machines are the machines that probes share, by container.
	machines map[string]*keptMachine
	// credentials are those of the podCertificate sources; nil until they are looked for.
	credentials *[]*podcertificates.Credential
}

// containerRoot is what the commands of one run of a container share.
type containerRoot struct {
	id   string
	tree *memfs.Tree
	// memory pays for the commands and for the files that they write.
	memory *shell.Budget
}

// free releases the pod's files and ends its processes.
func (f *podFiles) free() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tree := range f.volumes {
		tree.Free()
	}
	for _, root := range f.roots {
		root.tree.Free()
	}
	for _, kept := range f.machines {
		kept.leave()
	}
	f.volumes, f.roots, f.machines = nil, nil, nil
	for _, runs := range f.runs {
		for _, run := range runs {
			run.cancel()
		}
	}
}

// volume returns a volume that lives as long as the pod.
func (f *podFiles) volume(space *memfs.Space, name string) *memfs.Tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.volumes == nil {
		f.volumes = map[string]*memfs.Tree{}
	}
	if f.volumes[name] == nil {
		f.volumes[name] = space.NewTree(0o777)
	}
	return f.volumes[name]
}

// root returns a container's root file system, which is new for each run.
func (f *podFiles) root(space *memfs.Space, name, id string, files map[string]images.File, memory func() *shell.Budget) containerRoot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.roots == nil {
		f.roots = map[string]containerRoot{}
	}
	root := f.roots[name]
	if root.id != id {
		if root.tree != nil {
			root.tree.Free()
		}
		root = containerRoot{id, box.NewImage(space), memory()}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			root.tree.Put(path, files[path].Mode, []byte(files[path].Text))
		}
		f.roots[name] = root
	}
	return root
}

// machine returns the machine for commands in the container. The caller must call release.
func (in *containerRef) machine(ctx context.Context) (m *box.Machine, release func(), err error) {
	ctx = in.kubelets.asNode(ctx, in.node.Name)
	env, err := in.environment(ctx)
	if err != nil {
		return nil, nil, err
	}
	space := in.kubelets.space
	image := in.kubelets.images.Of(in.spec)
	files := image.Files(images.FilesOf(in.pod, podspec.Container{Container: in.spec, Kind: in.kind()}))
	if at := in.spec.TerminationMessagePath; path.IsAbs(at) {
		if files == nil {
			files = map[string]images.File{}
		}
		files[at] = images.File{Mode: 0o666}
	}
	run := in.entry.files.root(space, in.spec.Name, in.id, files, in.memory)
	root := run.tree
	name := podspec.Hostname(in.pod)
	root.Put("etc/hostname", 0o644, []byte(name+"\n"))
	root.Put("etc/hosts", 0o644, []byte(in.hosts(name)))
	root.Put("etc/resolv.conf", 0o644, []byte(in.resolvConf()))
	for path, content := range in.kernelFiles() {
		root.Put(path, 0o444, []byte(content))
	}
	view := memfs.NewView(root)
	var made []*memfs.Tree
	release = func() {
		for _, tree := range made {
			tree.Free()
		}
	}
	volumes := map[string]mountable{}
	for i := range in.pod.Spec.Volumes {
		v := &in.pod.Spec.Volumes[i]
		if !mounts(in.spec, v.Name) {
			continue
		}
		tree, own, err := in.volume(ctx, v)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("mounting volume %s: %w", v.Name, err)
		}
		if own {
			made = append(made, tree)
		}
		volumes[v.Name] = mountable{tree, own}
	}
	for _, mount := range in.spec.VolumeMounts {
		if v, ok := volumes[mount.Name]; ok {
			view.Mount(mount.MountPath, v.tree, subPath(mount, env), mount.ReadOnly || v.readOnly)
		}
	}
	if c := in.spec.SecurityContext; c != nil && c.ReadOnlyRootFilesystem != nil && *c.ReadOnlyRootFilesystem {
		view.MakeReadOnly()
	}
	uid, gid, groups := podspec.User(in.pod, in.spec, image.UID, image.GID)
	return &box.Machine{
		User:  box.User{UID: uid, GID: gid, Groups: groups},
		Files: view, Clock: in.kubelets.opts.Clock, Ledger: in.kubelets.opts.Ledger, Env: env, Dir: in.spec.WorkingDir, Hostname: name,
		Processes: in.processes(), Signal: in.signal, Memory: run.memory, Share: in.kubelets.share, Seed: in.seed(in.kubelets.opts.Clock.Now().Format(time.RFC3339Nano)),
	}, release, nil
}

const (
	// defaultMemory is the memory of the commands in a container without a limit, in bytes.
	defaultMemory = 64 << 20
	// memoryOfAll bounds the memory of the commands in all containers together, in bytes.
	memoryOfAll = 1 << 30
)

// memory returns the budget of one run of the container.
func (in *containerRef) memory() *shell.Budget {
	limit := int64(defaultMemory)
	if given, ok := in.spec.Resources.Limits[corev1.ResourceMemory]; ok && !given.IsZero() {
		limit = given.Value()
	}
	return shell.NewBudget(limit, in.kubelets.memory)
}

// seed returns what random numbers of a command follow from: the run's ID, and so the cluster's seed. The
// commands of one run differ in what names them.
func (in *containerRef) seed(command string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(in.id + "/" + command))
	return h.Sum64()
}

// mountable is a volume. Volumes with content from the API are read-only.
type mountable struct {
	tree     *memfs.Tree
	readOnly bool
}

func mounts(c *corev1.Container, volume string) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].Name == volume {
			return true
		}
	}
	return false
}

func subPath(mount corev1.VolumeMount, env []string) string {
	if mount.SubPathExpr == "" {
		return mount.SubPath
	}
	expanded, _ := podspec.VariablesOf(env).Expand(mount.SubPathExpr)
	return expanded
}

// processes returns the processes that the container sees: its own; with a target container,
// the target's before it; with a shared namespace, those of all running containers.
func (in *containerRef) processes() []box.Process {
	shown := in.entry.see()
	target := ""
	for i := range in.pod.Spec.EphemeralContainers {
		if c := &in.pod.Spec.EphemeralContainers[i]; c.Name == in.spec.Name {
			target = c.TargetContainerName
		}
	}
	shared := in.pod.Spec.ShareProcessNamespace != nil && *in.pod.Spec.ShareProcessNamespace
	var processes []box.Process
	if shared {
		processes = append(processes, box.Process{PID: 1, Command: "/pause"})
	}
	for _, ref := range podspec.Containers(shown.pod) {
		if ref.Name == in.spec.Name || (shared || ref.Name == target) && shown.runOf(ref.Name) != "" {
			processes = append(processes, box.Process{PID: len(processes) + 1, Command: title(ref.Container), Owner: ref.Name})
		}
	}
	return processes
}

// title returns the command of a container's process for ps.
func title(c *corev1.Container) string {
	if words := podspec.CommandLine(c.Command, c.Args); len(words) > 0 {
		return strings.Join(words, " ")
	}
	image, _, _ := strings.Cut(path.Base(c.Image), ":")
	return image
}

// signal handles a signal that a command in the container sends to a container's process. As in
// any PID namespace, KILL does not reach the first process.
func (in *containerRef) signal(to box.Process, name string) error {
	switch name {
	case "USR1", "USR2", "HUP":
	case "KILL":
		if to.PID > 1 {
			in.crash(to.Owner, lifecycle.ExitKilled)
		}
	case "TERM": // as when the kubelet stops it
		in.crash(to.Owner, 0)
	default:
		in.crash(to.Owner, int32(128+box.Signals()[name]))
	}
	return nil
}

// hosts returns the content of /etc/hosts.
func (in *containerRef) hosts(name string) string {
	var b strings.Builder
	b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
	if ip := in.podIP(); ip != "" {
		names := name
		if in.pod.Spec.Subdomain != "" {
			names = fmt.Sprintf("%s.%s.%s.svc.cluster.local\t%s", name, in.pod.Spec.Subdomain, in.pod.Namespace, name)
		}
		fmt.Fprintf(&b, "%s\t%s\n", ip, names)
	}
	if len(in.pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
	}
	for _, alias := range in.pod.Spec.HostAliases {
		fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return b.String()
}

func (in *containerRef) podIP() string {
	if in.pod.Spec.HostNetwork {
		return in.node.Address
	}
	if address := in.entry.see().state.Address; address.IsValid() {
		return address.String()
	}
	return ""
}

// resolvConf returns the content of /etc/resolv.conf. It has no nameserver but those of
// dnsConfig, since the simulation has no DNS server.
func (in *containerRef) resolvConf() string {
	var b strings.Builder
	search := []string{in.pod.Namespace + ".svc.cluster.local", "svc.cluster.local", "cluster.local"}
	options := []string{"ndots:5"}
	if in.pod.Spec.DNSPolicy == corev1.DNSNone || in.pod.Spec.DNSPolicy == corev1.DNSDefault {
		search, options = nil, nil
	}
	if config := in.pod.Spec.DNSConfig; config != nil {
		search = append(search, config.Searches...)
		for _, server := range config.Nameservers {
			fmt.Fprintf(&b, "nameserver %s\n", server)
		}
		for _, option := range config.Options {
			text := option.Name
			if option.Value != nil {
				text += ":" + *option.Value
			}
			options = append(options, text)
		}
	}
	if len(search) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(search, " "))
	}
	if len(options) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(options, " "))
	}
	return b.String()
}

func (in *containerRef) kind() podspec.Kind {
	for _, ref := range podspec.Containers(in.pod) {
		if ref.Name == in.spec.Name {
			return ref.Kind
		}
	}
	return podspec.AppContainer
}
