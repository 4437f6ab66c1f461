package containers

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/certgen"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// machine returns the machine for commands in the container, and what it has mounted, which the caller must release.
func (in *Ref) machine(ctx context.Context) (*box.Machine, *mounts, error) {
	ctx = in.runtime.opts.AsNode(ctx, in.node.Name)
	then := in.atStart()
	env, err := then.environment(ctx)
	if err != nil {
		return nil, nil, err
	}
	image, run := in.root()
	root := run.tree
	name := podspec.Hostname(in.pod)
	root.Put("etc/hostname", 0o644, []byte(name+"\n"))
	root.Put("etc/hosts", 0o644, []byte(in.hosts(name)))
	root.Put("etc/resolv.conf", 0o644, []byte(in.resolvConf(env)))
	for path, content := range in.kernelFiles() {
		root.Put(path, 0o444, []byte(content))
	}
	view := memfs.NewView(root)
	volumes, err := in.mount(ctx, view, env, then, "")
	if err != nil {
		return nil, nil, err
	}
	if c := in.spec.SecurityContext; c != nil && c.ReadOnlyRootFilesystem != nil && *c.ReadOnlyRootFilesystem {
		view.MakeReadOnly()
	}
	uid, gid, groups := podspec.User(in.pod, in.spec, image.UID, image.GID)
	return &box.Machine{
		User: box.User{UID: uid, GID: gid, Groups: groups}, Mounts: podspec.MayMount(in.spec, uid),
		Files: view, Clock: in.runtime.opts.Clock, Ledger: in.runtime.opts.Ledger, Env: env, Dir: in.spec.WorkingDir, Hostname: name,
		Unknown: !image.Known, Assumed: in.assumed(run.assumptions), Ran: run.ran,
		Processes: in.processes(), Signal: in.signal, Output: in.output, Certgen: in.certgen(), Network: in.network(), Memory: run.memory, Share: in.runtime.share, Seed: in.seed(in.runtime.opts.Clock.Now().Format(time.RFC3339Nano)),
	}, volumes, nil
}

// root returns the image of the container, and what its commands share.
func (in *Ref) root() (images.Content, containerRoot) {
	image := in.runtime.opts.Images.Of(in.spec)
	files := image.Files(images.FilesOf(in.pod, podspec.Container{Container: in.spec, Kind: in.kind()}))
	if at := in.spec.TerminationMessagePath; path.IsAbs(at) {
		if files == nil {
			files = map[string]images.File{}
		}
		files[at] = images.File{Mode: 0o666}
	}
	return image, in.entry.Files().root(in.runtime.space, in.spec.Name, in.id, image.Known, files, in.memory, in.runsUnknown)
}

// tokenPath is where containers have the token of their service account.
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// certgen returns the program that makes certificates, with the permissions of the pod's service
// account; nil if the container has no token of it.
func (in *Ref) certgen() func(ctx context.Context, args []string, out, errOut io.Writer) int {
	if in.runtime.opts.ConfigOf == nil || !slices.ContainsFunc(in.spec.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
		return nil
	}
	config := in.runtime.opts.ConfigOf(in.pod)
	return func(ctx context.Context, args []string, out, errOut io.Writer) int {
		return certgen.Run(ctx, config, args, out, errOut)
	}
}

const (
	// defaultMemory is the memory of the commands in a container without a limit, in bytes.
	defaultMemory = 64 << 20
	// memoryOfAll bounds the memory of the commands in all containers together, in bytes.
	memoryOfAll = 1 << 30
)

// memory returns the budget of one run of the container.
func (in *Ref) memory() *shell.Budget {
	limit := int64(defaultMemory)
	if given, ok := in.spec.Resources.Limits[corev1.ResourceMemory]; ok && !given.IsZero() {
		limit = given.Value()
	}
	return shell.NewBudget(limit, in.runtime.memory)
}

// seed returns the seed of a command's random numbers. It follows from the run's ID, and so from the cluster's seed, and
// from the command's name.
func (in *Ref) seed(command string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(in.id + "/" + command))
	return h.Sum64()
}

// processes returns the processes that the container sees: its own; with a target container,
// the target's before it; with a shared namespace, the processes of all running containers.
func (in *Ref) processes() []box.Process {
	shown := in.entry.See()
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
	for _, ref := range podspec.Containers(shown.Pod) {
		if ref.Name == in.spec.Name || (shared || ref.Name == target) && shown.RunOf(ref.Name) != "" {
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
func (in *Ref) signal(to box.Process, name string) error {
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
func (in *Ref) hosts(name string) string {
	var b strings.Builder
	b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
	names := name
	if fqdn := podspec.FQDN(in.pod); fqdn != "" {
		short, _, _ := strings.Cut(fqdn, ".")
		names = fqdn + "\t" + short
	}
	for _, ip := range in.podIPs() {
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

// podIPs returns the addresses of the pod, one of each IP family.
func (in *Ref) podIPs() []string {
	if in.pod.Spec.HostNetwork {
		return in.node.HostIPs()
	}
	var ips []string
	state := in.entry.See().State
	for _, address := range []netip.Addr{state.Address, state.SecondAddress} {
		if address.IsValid() {
			ips = append(ips, address.String())
		}
	}
	return ips
}

// first returns the first of a list; empty if there is none.
func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// resolvConf returns the content of /etc/resolv.conf. The cluster's name server has the tenth address after that of the Service
// kubernetes, which every environment has.
func (in *Ref) resolvConf(env []string) string {
	server := ""
	if address := fabric.NameServer(podspec.VariablesOf(env).Values["KUBERNETES_SERVICE_HOST"]); address.IsValid() {
		server = address.String()
	}
	config := dns.ConfigOf(in.pod, server, "", dns.Config{})
	return config.String()
}

func (in *Ref) kind() podspec.Kind {
	for _, ref := range podspec.Containers(in.pod) {
		if ref.Name == in.spec.Name {
			return ref.Kind
		}
	}
	return podspec.AppContainer
}
