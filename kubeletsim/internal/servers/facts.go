package servers

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// Request is a request, as the variable request of expressions. Names of headers are in lower case. Of names that occur several
// times, Query and Headers have the first value.
type Request struct {
	Method  string            `cel:"method"`
	Path    string            `cel:"path"`
	URI     string            `cel:"uri"`
	Host    string            `cel:"host"`
	Query   map[string]string `cel:"query"`
	Headers map[string]string `cel:"headers"`
	// HeaderLists have all values of each header.
	HeaderLists map[string][]string `cel:"headerLists"`
	// Proto is the version of HTTP, such as HTTP/1.1.
	Proto string `cel:"proto"`
	// Vars are the parts of the path that the route's path names.
	Vars map[string]string `cel:"vars"`
	// Body is a body that is text, or the line or datagram that was sent.
	Body     string `cel:"body"`
	Peer     string `cel:"peer"`
	PeerPort int64  `cel:"peerPort"`
	Port     int64  `cel:"port"`
	// Number counts the requests that the run of the container has got, this one included.
	Number int64 `cel:"number"`
}

// Container is the variable container.
type Container struct {
	Name  string `cel:"name"`
	Image string `cel:"image"`
	// Tag is the tag of the image; latest if it has none.
	Tag string            `cel:"tag"`
	Env map[string]string `cel:"env"`
	// Args are the command and its arguments, Mounts the paths of volumes.
	Args      []string  `cel:"args"`
	Mounts    []string  `cel:"mounts"`
	StartedAt time.Time `cel:"startedAt"`
	Restarts  int64     `cel:"restarts"`
}

// Pod is the variable pod.
type Pod struct {
	Name           string            `cel:"name"`
	Namespace      string            `cel:"namespace"`
	UID            string            `cel:"uid"`
	Node           string            `cel:"node"`
	IP             string            `cel:"ip"`
	Hostname       string            `cel:"hostname"`
	ServiceAccount string            `cel:"serviceAccount"`
	Labels         map[string]string `cel:"labels"`
	Annotations    map[string]string `cel:"annotations"`
}

// Reply is the answer to a call, as a value of the variable calls.
type Reply struct {
	Status  int64             `cel:"status"`
	Headers map[string]string `cel:"headers"`
	Body    string            `cel:"body"`
	// Error says why there is no answer; Status is 0 then.
	Error string `cel:"error"`
}

// Output is the output of a command, as the variable run.
type Output struct {
	Output string `cel:"output"`
	Errors string `cel:"errors"`
	Code   int64  `cel:"code"`
}

// ContainerOf returns what follows from a pod about one of its containers. The caller adds what belongs to its run.
func ContainerOf(pod *corev1.Pod, c *corev1.Container) *Container {
	known := &Container{Name: c.Name, Image: c.Image, Tag: tagOf(c.Image), Args: podspec.CommandLine(c.Command, c.Args), Env: podspec.KnownVariables(pod, c).Values}
	for _, m := range c.VolumeMounts {
		known.Mounts = append(known.Mounts, m.MountPath)
	}
	return known
}

// tagOf returns the tag of an image.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[i+1:]
	}
	return "latest"
}

// PodOf returns what follows from a pod. The caller adds its address.
func PodOf(pod *corev1.Pod) *Pod {
	return &Pod{
		Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), Node: pod.Spec.NodeName, IP: pod.Status.PodIP, Hostname: podspec.Hostname(pod),
		ServiceAccount: pod.Spec.ServiceAccountName, Labels: pod.Labels, Annotations: pod.Annotations,
	}
}
