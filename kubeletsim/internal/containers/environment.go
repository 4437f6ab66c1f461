package containers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/util/resource"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// environment returns the container's complete environment: service variables, envFrom and env.
// It reads the referenced objects from the API.
func (in *Ref) environment(ctx context.Context) ([]string, error) {
	vars := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, known := vars[name]; !known {
			order = append(order, name)
		}
		vars[name] = value
	}
	if err := in.serviceVariables(ctx, set); err != nil {
		return nil, err
	}
	set("HOSTNAME", podspec.Hostname(in.pod))
	for _, from := range in.spec.EnvFrom {
		if err := in.variablesFrom(ctx, from, set); err != nil {
			return nil, err
		}
	}
	for i := range in.spec.Env {
		v := &in.spec.Env[i]
		value, present, err := in.variable(ctx, v, vars)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if present {
			set(v.Name, value)
		}
	}
	env := make([]string, 0, len(order))
	for _, name := range order {
		env = append(env, name+"="+vars[name])
	}
	return env, nil
}

// variablesFrom sets a variable for each key of a ConfigMap or Secret.
func (in *Ref) variablesFrom(ctx context.Context, from corev1.EnvFromSource, set func(name, value string)) error {
	var data map[string][]byte
	var err error
	switch {
	case from.ConfigMapRef != nil:
		data, _, err = in.data(ctx, false, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, _, err = in.data(ctx, true, from.SecretRef.Name, from.SecretRef.Optional)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		set(from.Prefix+key, string(data[key]))
	}
	return err
}

// variable returns the value of one variable; not present if it refers to a missing optional
// key.
func (in *Ref) variable(ctx context.Context, v *corev1.EnvVar, vars map[string]string) (value string, present bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		known := &podspec.Variables{Values: vars}
		value, _ = known.Expand(v.Value)
		return value, true, nil
	case from.FieldRef != nil:
		value, err = in.field(from.FieldRef)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = in.resource(from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return in.key(ctx, false, ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return in.key(ctx, true, ref.Name, ref.Key, ref.Optional)
	}
	return "", false, nil
}

func (in *Ref) key(ctx context.Context, secret bool, name, key string, optional *bool) (value string, present bool, err error) {
	data, assumed, err := in.data(ctx, secret, name, optional)
	if err != nil {
		return "", false, err
	}
	if assumed {
		return unknown.Text, true, nil
	}
	bytes, ok := data[key]
	return string(bytes), ok, nil
}

// data returns the content of a ConfigMap or Secret, of the run's start if that is kept; nil if it is optional and does not exist. It is unknown if the
// Secret is assumed to exist.
func (in *Ref) data(ctx context.Context, secret bool, name string, optional *bool) (data map[string][]byte, assumed bool, err error) {
	if in.began != nil {
		if then, ok := in.began.sources[source{secret, name}]; ok {
			return then.data(), then.assumed, nil
		}
	}
	client := in.runtime.opts.Client.CoreV1()
	data = map[string][]byte{}
	if secret {
		var object *corev1.Secret
		if object, err = client.Secrets(in.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			data = object.Data
		}
	} else {
		var object *corev1.ConfigMap
		if object, err = client.ConfigMaps(in.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			for key, value := range object.Data {
				data[key] = []byte(value)
			}
			maps.Copy(data, object.BinaryData)
		}
	}
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, false, nil
	}
	if assumes := in.runtime.opts.AssumesSecrets; apierrors.IsNotFound(err) && secret && assumes != nil && assumes(in.pod.Namespace) {
		return nil, true, nil
	}
	return data, false, err
}

// field returns the value of a field of the pod in the downward API.
func (in *Ref) field(ref *corev1.ObjectFieldSelector) (string, error) {
	pod := in.object()
	switch ref.FieldPath {
	case "metadata.labels":
		return quotedPairs(pod.Labels), nil
	case "metadata.annotations":
		return quotedPairs(pod.Annotations), nil
	case "status.podIP":
		return first(in.podIPs()), nil
	case "status.podIPs":
		return strings.Join(in.podIPs(), ","), nil
	case "status.hostIP":
		return first(in.node.HostIPs()), nil
	case "status.hostIPs":
		return strings.Join(in.node.HostIPs(), ","), nil
	}
	value, ok := podspec.FieldValue(pod, ref)
	if !ok {
		return "", fmt.Errorf("field %s is not known", ref.FieldPath)
	}
	return value, nil
}

// object is the pod's object, of the run's start if that is kept.
func (in *Ref) object() *corev1.Pod {
	if in.began != nil {
		return in.began.pod
	}
	return in.entry.See().Pod
}

// quotedPairs formats labels and annotations as the downward API does.
func quotedPairs(pairs map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		lines = append(lines, key+"="+strconv.Quote(pairs[key]))
	}
	return strings.Join(lines, "\n")
}

// resource returns a request or limit in the downward API. Without a limit it is the pod's or, if it has none, the
// node's allocatable.
func (in *Ref) resource(ref *corev1.ResourceFieldSelector) (string, error) {
	for _, other := range podspec.Containers(in.pod) {
		if other.Name != ref.ContainerName && (ref.ContainerName != "" || other.Name != in.spec.Name) {
			continue
		}
		c := other.DeepCopy()
		c.Resources = withPodLimits(in.pod, c.Resources)
		if c.Resources.Limits == nil {
			c.Resources.Limits = corev1.ResourceList{}
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if _, limited := c.Resources.Limits[name]; !limited {
				c.Resources.Limits[name] = in.node.Allocatable[name]
			}
		}
		return resource.ExtractContainerResourceValue(ref, c)
	}
	return "", fmt.Errorf("container %s is not there", ref.ContainerName)
}

// serviceVariables sets the environment variables for services (Kubernetes documentation,
// "Accessing the Service"): for the API's own service and, with enableServiceLinks, for the
// services in the pod's namespace that were there when the run began.
func (in *Ref) serviceVariables(ctx context.Context, set func(name, value string)) error {
	services := in.runtime.opts.Client.CoreV1().Services
	own, err := services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	if err == nil {
		serviceLinks(own, set)
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the service of the API: %w", err)
	}
	if links := in.pod.Spec.EnableServiceLinks; links != nil && !*links {
		return nil
	}
	list, err := services(in.pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	shown := in.entry.See()
	began := shown.State.BeganAt(in.pod, in.spec.Name, in.id)
	for i := range list.Items {
		if began.IsZero() || !list.Items[i].CreationTimestamp.After(began) {
			serviceLinks(&list.Items[i], set)
		}
	}
	return nil
}

func serviceLinks(service *corev1.Service, set func(name, value string)) {
	ip := service.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone || len(service.Spec.Ports) == 0 {
		return
	}
	prefix := variableName(service.Name)
	set(prefix+"_SERVICE_HOST", ip)
	set(prefix+"_SERVICE_PORT", strconv.Itoa(int(service.Spec.Ports[0].Port)))
	for _, port := range service.Spec.Ports {
		if port.Name != "" {
			set(prefix+"_SERVICE_PORT_"+variableName(port.Name), strconv.Itoa(int(port.Port)))
		}
	}
	for i, port := range service.Spec.Ports {
		protocol := strings.ToLower(string(port.Protocol))
		url := fmt.Sprintf("%s://%s:%d", protocol, ip, port.Port)
		if i == 0 {
			set(prefix+"_PORT", url)
		}
		one := fmt.Sprintf("%s_PORT_%d_%s", prefix, port.Port, strings.ToUpper(protocol))
		set(one, url)
		set(one+"_PROTO", protocol)
		set(one+"_PORT", strconv.Itoa(int(port.Port)))
		set(one+"_ADDR", ip)
	}
}

func variableName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
