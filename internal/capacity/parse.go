package capacity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxAdded caps the nodes of one Add. MaxReplicas caps the replicas of a workload.
const (
	maxAdded    = 3072
	MaxReplicas = 100_000
)

const knownChanges = "the changes are drain NODES, remove NODES, crash NODES, upgrade POOL surge N, consolidate [NODES], add N like NODE, apply FILE, load SERVICE xN and scale KIND/NAME=N..."

// ParseChanges parses the changes of a command line, separated by commas. Workloads are in the given
// namespace unless they are written as NAMESPACE/KIND/NAME. The error is an InputError.
func ParseChanges(words []string, namespace string) ([]Change, error) {
	var all []Change
	for _, fields := range split(words) {
		changes, err := parseChange(Verb(fields[0]), fields[1:], namespace)
		if err != nil {
			return nil, InputError{err}
		}
		all = append(all, changes...)
	}
	if len(all) == 0 {
		return nil, input("no change is given; %s", knownChanges)
	}
	return all, nil
}

// split returns the words of each change. Commas separate changes, also within a word, but for those
// within a label selector of nodes. An argument with a selector of sets, such as "tier in (a, b)", is one
// word.
func split(words []string) [][]string {
	var all [][]string
	var now []string
	end := func() {
		if len(now) > 0 {
			all = append(all, now)
		}
		now = nil
	}
	for _, word := range words {
		fields := strings.Fields(word)
		if isSetSelector(word) {
			fields = []string{strings.Join(fields, " ")}
		}
		for _, field := range fields {
			for field != "" {
				rest, last := "", strings.HasSuffix(field, ",")
				if len(now) > 0 && takesNodes(Verb(now[0])) && isSelector(field) {
					field = strings.TrimRight(field, ",")
				} else {
					field, rest, last = strings.Cut(field, ",")
				}
				if field != "" {
					now = append(now, field)
				}
				if last {
					end()
				}
				field = rest
			}
		}
	}
	end()
	return all
}

func takesNodes(verb Verb) bool {
	return verb == Drain || verb == Remove || verb == Crash || verb == Upgrade || verb == Consolidate
}

func parseChange(verb Verb, words []string, namespace string) ([]Change, error) {
	switch verb {
	case Drain, Remove, Crash:
		nodes, err := parseNodes(verb, words)
		return []Change{{Verb: verb, Selected: nodes}}, err
	case Consolidate:
		if len(words) == 0 {
			return []Change{{Verb: Consolidate}}, nil
		}
		nodes, err := parseNodes(verb, words)
		return []Change{{Verb: verb, Selected: nodes}}, err
	case Upgrade:
		return parseUpgrade(words)
	case Load:
		return parseLoads(words, namespace)
	case Apply:
		if len(words) == 0 {
			return nil, errors.New("apply needs a file, such as apply web.yaml")
		}
		var all []Change
		for _, file := range words {
			all = append(all, Change{Verb: Apply, File: file, Namespace: namespace})
		}
		return all, nil
	case Add:
		return parseAdd(words)
	case Scale:
		if len(words) == 0 {
			return nil, errors.New("scale needs a workload, such as scale deployment/web=10")
		}
		var all []Change
		for _, word := range words {
			c, err := parseScale(word, namespace)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
		return all, nil
	}
	return nil, fmt.Errorf("unknown change %q; %s", verb, knownChanges)
}

// parseUpgrade parses NODES, or the name of a pool alone, and "surge N" after them.
func parseUpgrade(words []string) ([]Change, error) {
	c := Change{Verb: Upgrade, Surge: 1}
	if n := len(words); n > 2 && words[n-2] == "surge" {
		surge, err := strconv.Atoi(words[n-1])
		if err != nil || surge < 0 || surge > maxAdded {
			return nil, fmt.Errorf("upgrade surge %s: the number of nodes must be between 0 and %d", words[n-1], maxAdded)
		}
		c.Surge, words = surge, words[:n-2]
	}
	if len(words) == 1 && !isSelector(words[0]) && words[0] != "zone" && words[0] != "pool" {
		words = []string{"pool", words[0]}
	}
	var err error
	c.Selected, err = parseNodes(Upgrade, words)
	return []Change{c}, err
}

func parseAdd(words []string) ([]Change, error) {
	if len(words) != 3 || words[1] != "like" {
		return nil, errors.New("add is written as: add 3 like node-1")
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > maxAdded {
		return nil, fmt.Errorf("add %s: the number of nodes must be between 1 and %d", words[0], maxAdded)
	}
	return []Change{{Verb: Add, Count: n, Like: words[2]}}, nil
}

func parseScale(word, namespace string) (Change, error) {
	name, number, ok := strings.Cut(word, "=")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > MaxReplicas {
		return Change{}, fmt.Errorf("scale %s: write it as KIND/NAME=N with N between 0 and %d, such as deployment/web=10", word, MaxReplicas)
	}
	target, err := ParseTarget(name, namespace)
	if err != nil {
		return Change{}, fmt.Errorf("scale %s: %w", word, err)
	}
	return Change{Verb: Scale, Target: target, Replicas: n}, nil
}

// ParseTarget parses KIND/NAME, which is in the given namespace, or NAMESPACE/KIND/NAME. The
// error is an InputError.
func ParseTarget(text, namespace string) (*Target, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" || namespace == "" {
		return nil, input("%q is not KIND/NAME or NAMESPACE/KIND/NAME, such as deployment/web", text)
	}
	return &Target{Kind: parts[0], Namespace: namespace, Name: parts[1]}, nil
}
