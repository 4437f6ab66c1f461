package hostaddress

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"127.0.0.1:9443": "127.0.0.1:9443",
		"[::1]:9443":     "[::1]:9443",
		"localhost:1":    "localhost:1",
		"https=127.0.0.1:9443, metrics=10.0.0.1:8": "10.0.0.1:8 127.0.0.1:9443",
		"https=127.0.0.1:9443,127.0.0.1:9443":      "127.0.0.1:9443",
		"":                                         `error: "": must be HOST:PORT or PORTNAME=HOST:PORT`,
		"9443":                                     `error: "9443": must be HOST:PORT or PORTNAME=HOST:PORT`,
		"::1:9443":                                 `error: "::1:9443": must be HOST:PORT or PORTNAME=HOST:PORT`,
		":9443":                                    `error: ":9443": the host must be an IP address or a DNS name`,
		"a b:9443":                                 `error: "a b:9443": the host must be an IP address or a DNS name`,
		"localhost:0":                              `error: "localhost:0": the port must be a number from 1 to 65535`,
		"localhost:65536":                          `error: "localhost:65536": the port must be a number from 1 to 65535`,
		"localhost:https":                          `error: "localhost:https": the port must be a number from 1 to 65535`,
		"localhost:1,":                             `error: "": must be HOST:PORT or PORTNAME=HOST:PORT`,
		"localhost:1,localhost:2":                  `error: has two addresses without the name of a port`,
		"a=localhost:1,a=localhost:2":              `error: has two addresses for the port "a"`,
		"=localhost:1":                             `error: "" is not the name of a port`,
		"https://localhost:1":                      `error: "https://localhost:1": must be HOST:PORT or PORTNAME=HOST:PORT`,
		strings.Repeat("localhost:1,", 100) + "localhost:1": "error: may have at most 100 addresses",
	} {
		parsed, err := Parse(value)
		got := strings.Join(parsed.All(), " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%.40q: %s, want %s", value, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:9443", "https=[::1]:1,localhost:2", "a=b=c:1", ",", "["} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		parsed, err := Parse(value)
		for _, address := range parsed.All() {
			if wrong := check(address); wrong != nil || err != nil {
				t.Errorf("%q has the address %q: %v, %v", value, address, wrong, err)
			}
		}
	})
}

func service(annotation string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: annotation}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: ports},
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	web, metrics := corev1.ServicePort{Name: "web", Port: 443}, corev1.ServicePort{Name: "metrics", Port: 8080}
	external := service("localhost:1")
	external.Spec.Type = corev1.ServiceTypeExternalName
	for name, tt := range map[string]struct {
		service *corev1.Service
		port    int32
		want    string
	}{
		"only port":              {service("localhost:1", web), 443, "localhost:1"},
		"every port":             {service("localhost:1", web, metrics), 8080, "localhost:1"},
		"named":                  {service("metrics=localhost:2,localhost:1", web, metrics), 8080, "localhost:2"},
		"another":                {service("metrics=localhost:2,localhost:1", web, metrics), 443, "localhost:1"},
		"not named":              {service("metrics=localhost:2", web, metrics), 443, ""},
		"no such port":           {service("localhost:1", web), 8080, ""},
		"invalid":                {service("nowhere", web), 443, ""},
		"without an annotation":  {&corev1.Service{}, 443, ""},
		"external without ports": {external, 443, "localhost:1"},
	} {
		if got := Of(tt.service, tt.port); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for name, want := range map[string]string{"web": "localhost:1", "": "", "other": ""} {
		if got := OfNamed(service("localhost:1", web, metrics), name); got != want {
			t.Errorf("the port %q: %q, want %q", name, got, want)
		}
	}
	parsed, err := Parse("web=localhost:1,b=localhost:2,a=localhost:3")
	if diff := cmp.Diff([]string{"a", "b"}, parsed.Unknown(service("", web).Spec.Ports)); err != nil || diff != "" {
		t.Errorf("unknown names: %v\n%s", err, diff)
	}
}

func TestOfPod(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "version": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "hooks", ContainerPort: 9443}}}}},
	}
	named := service("localhost:1", corev1.ServicePort{Port: 443, TargetPort: intstr.FromString("hooks")})
	numbered := service("localhost:2", corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(8080)})
	same := service("localhost:3", corev1.ServicePort{Port: 7000})
	other := service("localhost:4", corev1.ServicePort{Port: 7001})
	other.Spec.Selector = map[string]string{"app": "db"}
	none := service("localhost:5", corev1.ServicePort{Port: 7002})
	none.Spec.Selector = nil
	udp := service("localhost:6", corev1.ServicePort{Port: 7003, Protocol: corev1.ProtocolUDP})
	services := []*corev1.Service{named, numbered, same, other, none, udp}
	for port, want := range map[int32]string{
		9443: "localhost:1", 443: "", 8080: "localhost:2", 80: "", 7000: "localhost:3", 7001: "", 7002: "", 7003: "",
	} {
		if got := OfPod(services, pod, port); got != want {
			t.Errorf("port %d: %q, want %q", port, got, want)
		}
	}
}

func TestOfProbe(t *testing.T) {
	t.Parallel()
	pod := func(addresses string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: addresses}},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "side", ContainerPort: 7000}}}},
				Containers:     []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "health", ContainerPort: 8081}, {ContainerPort: 9000}}}},
			},
		}
	}
	for name, tt := range map[string]struct {
		addresses string
		port      int32
		want      string
	}{
		"by number":    {"8081=localhost:1", 8081, "localhost:1"},
		"undeclared":   {"8082=localhost:1", 8082, "localhost:1"},
		"by name":      {"health=localhost:1", 8081, "localhost:1"},
		"of a sidecar": {"side=localhost:1", 7000, "localhost:1"},
		"number first": {"health=localhost:1,8081=localhost:2", 8081, "localhost:2"},
		"another":      {"health=localhost:1", 9000, ""},
		"every port":   {"health=localhost:1,localhost:2", 9000, "localhost:2"},
		"no such port": {"localhost:1", 0, ""},
		"invalid":      {"nowhere", 8081, ""},
		"empty":        {"", 8081, ""},
	} {
		if got := OfProbe(pod(tt.addresses), tt.port); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	simulated := pod("8081=localhost:1")
	simulated.Annotations[ProbesAnnotation] = SimulatedProbes
	if got := OfProbe(simulated, 8081) + OfPod(nil, simulated, 8081); got != "localhost:1" {
		t.Errorf("simulated probes, and another connection: %q", got)
	}
	if got := OfProbe(&corev1.Pod{}, 8081); got != "" {
		t.Errorf("without an annotation: %q", got)
	}
	parsed, err := Parse("health=localhost:1,9=localhost:2,b=localhost:3,a=localhost:3,70000=localhost:4")
	if diff := cmp.Diff([]string{"70000", "a", "b"}, parsed.UnknownToPod(&pod("").Spec)); err != nil || diff != "" {
		t.Errorf("unknown names: %v\n%s", err, diff)
	}
}
