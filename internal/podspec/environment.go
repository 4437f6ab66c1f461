package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Variables are a container's environment as far as the pod's spec determines it.
type Variables struct {
	// Values are the known values by name.
	Values map[string]string
	// Hidden are the variables whose values only the cluster knows, as those from a
	// ConfigMap; with hiddenRest, any variable that values does not have may be one.
	Hidden     map[string]bool
	HiddenRest bool
}

// KnownVariables returns the variables that follow from the pod alone.
func KnownVariables(pod *corev1.Pod, c *corev1.Container) *Variables {
	vars := &Variables{Values: map[string]string{}, Hidden: map[string]bool{}, HiddenRest: len(c.EnvFrom) > 0}
	vars.Values["HOSTNAME"] = Hostname(pod)
	for i := range c.Env {
		v := &c.Env[i]
		value, known := v.Value, true
		if v.ValueFrom != nil {
			value, known = FieldValue(pod, v.ValueFrom.FieldRef)
		} else {
			value, known = vars.Expand(value)
		}
		delete(vars.Values, v.Name)
		vars.Hidden[v.Name] = !known
		if known {
			vars.Values[v.Name] = value
		}
	}
	return vars
}

// Hostname returns the hostname of the pod's containers.
func Hostname(pod *corev1.Pod) string {
	fqdn := FQDN(pod)
	if as := pod.Spec.SetHostnameAsFQDN; as != nil && *as && fqdn != "" {
		return fqdn
	}
	return shortHostname(pod)
}

func shortHostname(pod *corev1.Pod) string {
	switch override := pod.Spec.HostnameOverride; {
	case pod.Spec.HostNetwork:
		return pod.Spec.NodeName
	case override != nil && *override != "":
		return *override
	case pod.Spec.Hostname != "":
		return pod.Spec.Hostname
	}
	return pod.Name
}

// FQDN returns the hostname with the domain of the pod's subdomain; empty: it has no domain. A pod with hostnameOverride
// has none (KEP-4762).
func FQDN(pod *corev1.Pod) string {
	if override := pod.Spec.HostnameOverride; pod.Spec.HostNetwork || pod.Spec.Subdomain == "" || override != nil && *override != "" {
		return ""
	}
	return shortHostname(pod) + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc.cluster.local"
}

// FieldValue returns the value of a field of the pod in the downward API; false if it is not
// known.
func FieldValue(pod *corev1.Pod, ref *corev1.ObjectFieldSelector) (string, bool) {
	if ref == nil {
		return "", false
	}
	switch ref.FieldPath {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "spec.nodeName":
		return pod.Spec.NodeName, true
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, true
	case "status.podIP":
		return pod.Status.PodIP, pod.Status.PodIP != ""
	case "status.hostIP":
		return pod.Status.HostIP, pod.Status.HostIP != ""
	}
	for path, values := range map[string]map[string]string{"metadata.labels": pod.Labels, "metadata.annotations": pod.Annotations} {
		if key, ok := strings.CutPrefix(ref.FieldPath, path+"['"); ok {
			return values[strings.TrimSuffix(key, "']")], true
		}
	}
	return "", false
}

// Expand replaces references of the form $(NAME) by the variable's value; $$ is a dollar sign
// (API docs of Container.command). known is false if text refers to a hidden variable.
func (v *Variables) Expand(text string) (expanded string, known bool) {
	if !strings.Contains(text, "$") {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if strings.HasPrefix(rest, "$$") {
			b.WriteByte('$')
			i++
			continue
		}
		end := strings.IndexByte(rest, ')')
		if !strings.HasPrefix(rest, "$(") || end < 0 {
			b.WriteByte(text[i])
			continue
		}
		name := rest[2:end]
		value, ok := v.Values[name]
		switch {
		case ok:
			b.WriteString(value)
		case v.Hidden[name]:
			return "", false
		default:
			b.WriteString(rest[:end+1])
		}
		i += end
	}
	return b.String(), true
}

// VariablesOf returns the variables of a complete environment of NAME=value pairs.
func VariablesOf(env []string) *Variables {
	vars := &Variables{Values: map[string]string{}}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		vars.Values[name] = value
	}
	return vars
}
