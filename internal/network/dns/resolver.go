package dns

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Config is a pod's /etc/resolv.conf.
type Config struct {
	Nameservers []string
	Searches    []string
	Options     []string
}

// The limits of a kubelet for the lists of a pod. Entries beyond them are left out.
const (
	maxNameservers = 3
	maxSearches    = 32
)

// ConfigOf returns the configuration of a pod. server is the address of the cluster's server, and host what the node uses.
func ConfigOf(pod *corev1.Pod, server, domain string, host Config) Config {
	var c Config
	switch policy := pod.Spec.DNSPolicy; {
	case policy == corev1.DNSNone:
	case policy == corev1.DNSDefault, pod.Spec.HostNetwork && policy != corev1.DNSClusterFirstWithHostNet:
		c = Config{slices.Clone(host.Nameservers), slices.Clone(host.Searches), slices.Clone(host.Options)}
	default:
		if domain == "" {
			domain = DefaultDomain
		}
		c.Nameservers = []string{server}
		c.Searches = append([]string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}, host.Searches...)
		c.Options = []string{"ndots:5"}
	}
	if given := pod.Spec.DNSConfig; given != nil {
		c.Nameservers = append(c.Nameservers, given.Nameservers...)
		c.Searches = append(c.Searches, given.Searches...)
		for _, option := range given.Options {
			c.Options = replaceOption(c.Options, option)
		}
	}
	c.Nameservers, c.Searches = unique(c.Nameservers, maxNameservers), unique(c.Searches, maxSearches)
	return c
}

// replaceOption sets an option in place of one with the same name.
func replaceOption(options []string, given corev1.PodDNSConfigOption) []string {
	options = slices.DeleteFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, ":")
		return name == given.Name
	})
	text := given.Name
	if given.Value != nil {
		text += ":" + *given.Value
	}
	return append(options, text)
}

// unique returns the first limit different entries that are not empty.
func unique(list []string, limit int) []string {
	var kept []string
	for _, entry := range list {
		if entry != "" && !slices.Contains(kept, entry) && len(kept) < limit {
			kept = append(kept, entry)
		}
	}
	return kept
}

// String returns the content of the file.
func (c *Config) String() string {
	var b strings.Builder
	if len(c.Searches) > 0 {
		b.WriteString("search " + strings.Join(c.Searches, " ") + "\n")
	}
	for _, server := range c.Nameservers {
		b.WriteString("nameserver " + server + "\n")
	}
	if len(c.Options) > 0 {
		b.WriteString("options " + strings.Join(c.Options, " ") + "\n")
	}
	return b.String()
}

// ParseConfig reads a file /etc/resolv.conf, which a command in the container may have changed.
func ParseConfig(text string) Config {
	var c Config
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			c.Nameservers = append(c.Nameservers, words[1])
		case "search", "domain":
			c.Searches = words[1:]
		case "options":
			c.Options = append(c.Options, words[1:]...)
		}
	}
	c.Nameservers, c.Searches = unique(c.Nameservers, maxNameservers), unique(c.Searches, maxSearches)
	return c
}

// maxNdots is the limit of resolvers for the option ndots.
const maxNdots = 15

func (c *Config) ndots() int {
	n := 1
	for _, o := range c.Options {
		if text, ok := strings.CutPrefix(o, "ndots:"); ok {
			if given, err := strconv.Atoi(text); err == nil && given >= 0 {
				n = min(given, maxNdots)
			}
		}
	}
	return n
}

// Candidates returns the absolute names that a resolver asks for, in order, until one has an answer.
func (c *Config) Candidates(name string) []string {
	if absolute, ok := strings.CutSuffix(name, "."); ok {
		return []string{absolute}
	}
	var list []string
	for _, search := range c.Searches {
		if search = strings.Trim(search, "."); search != "" {
			list = append(list, name+"."+search)
		}
	}
	if strings.Count(name, ".") >= c.ndots() {
		return append([]string{name}, list...)
	}
	return append(list, name)
}

// Resolution is how a name was resolved.
type Resolution struct {
	// Name is the absolute name that had an answer, or the one asked last; Code is that answer's.
	Name string
	Code Code
	// Addresses are the addresses found, those of IPv4 first.
	Addresses []netip.Addr
	// Records are the records of the answers; Asked the names that were asked for.
	Records []Record
	Asked   []string
}

// Resolve resolves a name to addresses as getaddrinfo does: the first candidate that has an address ends the search. If none
// has, one for which the server failed decides: the name may exist.
func (z *Zone) Resolve(c *Config, name string) Resolution {
	r := Resolution{Name: name, Code: NXDomain}
	failed := ""
	for _, candidate := range c.Candidates(name) {
		r.Name = candidate
		r.Asked = append(r.Asked, candidate)
		four, six := z.Query(candidate, A), z.Query(candidate, AAAA)
		switch r.Code = four.Code; r.Code {
		case NXDomain:
			continue
		case ServFail:
			failed = candidate
			continue
		case NoAnswer:
			return r
		}
		r.Records = append(four.Records, six.Records...)
		for _, record := range r.Records {
			if record.Type == A || record.Type == AAAA {
				r.Addresses = append(r.Addresses, record.Address)
			}
		}
		if len(r.Addresses) > 0 || r.Code == Outside {
			return r
		}
	}
	if failed != "" && len(r.Addresses) == 0 {
		r.Name, r.Code = failed, ServFail
	}
	return r
}
