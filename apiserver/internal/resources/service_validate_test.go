package resources

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func validService(change func(s *corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if change != nil {
		change(&s.Spec)
	}
	prepareService(s)
	defaultService(s)
	return s
}

func sum(errs field.ErrorList) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

func TestValidateServiceAddresses(t *testing.T) {
	local := func(s *corev1.ServiceSpec) {
		s.Type, s.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
	}
	for name, tt := range map[string]struct {
		change func(s *corev1.ServiceSpec)
		want   string
	}{
		"nothing":       {nil, ""},
		"both families": {func(s *corev1.ServiceSpec) { s.ClusterIP, s.ClusterIPs = "10.0.0.1", []string{"10.0.0.1", "fd00::1"} }, ""},
		"IPs without IP": {
			func(s *corev1.ServiceSpec) { s.ClusterIPs = []string{"10.0.0.1"} },
			"spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: must be empty when `clusterIP` is not specified",
		},
		"two of one family": {
			func(s *corev1.ServiceSpec) { s.ClusterIP, s.ClusterIPs = "10.0.0.1", []string{"10.0.0.1", "10.0.0.2"} },
			`spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family`,
		},
		"other family": {
			func(s *corev1.ServiceSpec) {
				s.ClusterIP, s.IPFamilies = "10.0.0.1", []corev1.IPFamily{corev1.IPv6Protocol}
			},
			"spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
		},
		"family twice": {
			func(s *corev1.ServiceSpec) {
				s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv6Protocol}
			},
			`spec.ipFamilies[1]: Duplicate value: "IPv6"`,
		},
		"None and more": {
			func(s *corev1.ServiceSpec) { s.ClusterIP, s.ClusterIPs = "None", []string{"None", "10.0.0.1"} },
			`spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value`,
		},
		"health check": {func(s *corev1.ServiceSpec) { local(s); s.HealthCheckNodePort = 30000 }, ""},
		"health check of nothing": {
			func(s *corev1.ServiceSpec) { s.HealthCheckNodePort = 30000 },
			"spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
		},
		"traffic distribution": {
			func(s *corev1.ServiceSpec) { d := "Nowhere"; s.TrafficDistribution = &d },
			`spec.trafficDistribution: Unsupported value: "Nowhere": supported values: "PreferClose", "PreferSameNode", "PreferSameZone"`,
		},
		"class": {
			func(s *corev1.ServiceSpec) { local(s); c := "_"; s.LoadBalancerClass = &c },
			`spec.loadBalancerClass: Invalid value: "_": name part must consist of`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sum(validation.Service(validService(tt.change))); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateServiceUpdate(t *testing.T) {
	single, dual := corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyRequireDualStack
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	two := func(s *corev1.ServiceSpec) {
		s.ClusterIP, s.ClusterIPs = "10.0.0.1", []string{"10.0.0.1", "fd00::1"}
		s.IPFamilies, s.IPFamilyPolicy = []corev1.IPFamily{v4, v6}, &dual
	}
	one := func(s *corev1.ServiceSpec) {
		s.ClusterIP, s.ClusterIPs = "10.0.0.1", []string{"10.0.0.1"}
		s.IPFamilies, s.IPFamilyPolicy = []corev1.IPFamily{v4}, &single
	}
	for name, tt := range map[string]struct {
		before, after func(s *corev1.ServiceSpec)
		want          string
	}{
		"same":   {two, two, ""},
		"to one": {two, one, ""},
		"to two": {one, two, ""},
		"other address": {
			one, func(s *corev1.ServiceSpec) { one(s); s.ClusterIP, s.ClusterIPs = "10.0.0.2", []string{"10.0.0.2"} },
			`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`,
		},
		"other second address": {
			two, func(s *corev1.ServiceSpec) { two(s); s.ClusterIPs[1] = "fd00::2" },
			`spec.clusterIPs[1]: Invalid value: ["10.0.0.1","fd00::2"]: may not change once set`,
		},
		"one less, no policy": {
			two, func(s *corev1.ServiceSpec) { one(s); s.IPFamilyPolicy = &dual },
			`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be set to 'SingleStack' when releasing the secondary clusterIP
spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be set to 'SingleStack' when releasing the secondary ipFamily`,
		},
		"other family": {
			one, func(s *corev1.ServiceSpec) { one(s); s.IPFamilies = []corev1.IPFamily{v6} },
			`spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set`,
		},
		"headless now": {
			one, func(s *corev1.ServiceSpec) { one(s); s.ClusterIP, s.ClusterIPs = "None", []string{"None"} },
			`spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sum(validation.ServiceUpdate(validService(tt.after), validService(tt.before))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateServiceStatus(t *testing.T) {
	mode := corev1.LoadBalancerIPModeVIP
	for name, tt := range map[string]struct {
		kind  corev1.ServiceType
		point corev1.LoadBalancerIngress
		want  string
	}{
		"address":     {corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{IP: "192.0.2.1", IPMode: &mode}, ""},
		"name":        {corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{Hostname: "a.example"}, ""},
		"no mode":     {corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{IP: "192.0.2.1"}, "status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set"},
		"only a mode": {corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{IPMode: &mode}, "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set"},
		"IP as name":  {corev1.ServiceTypeLoadBalancer, corev1.LoadBalancerIngress{Hostname: "192.0.2.1"}, `status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address`},
		"cluster IP":  {corev1.ServiceTypeClusterIP, corev1.LoadBalancerIngress{Hostname: "a"}, "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"},
	} {
		t.Run(name, func(t *testing.T) {
			s := validService(func(spec *corev1.ServiceSpec) { spec.Type = tt.kind })
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{tt.point}
			if got := sum(validation.ServiceStatus(s, &corev1.Service{})); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
