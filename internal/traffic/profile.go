package traffic

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

// Annotation of a pod, with the name of a container appended for one of its containers, says how its servers answer the requests of
// traffic, one property a line (ParseProfile).
const Annotation = "minikcm.dev/traffic"

// properties are the lines of a profile, by their first words.
var properties = map[string]func(p *Profile, words []string) error{
	"service": func(p *Profile, words []string) (err error) {
		p.Service, err = latency.Parse(strings.Join(words, " "))
		return err
	},
	"workers": func(p *Profile, words []string) (err error) {
		p.Workers, err = parseNumber(words, 1, MaxOpen)
		return err
	},
	"queue": func(p *Profile, words []string) (err error) {
		p.Queue, err = parseNumber(words, 0, MaxOpen)
		return err
	},
	"errors": func(p *Profile, words []string) error {
		share, err := ParseShare(strings.Join(words, " "))
		p.ErrorRate = share
		return err
	},
	"warm-up": parseWarmUp,
	"sigterm": func(p *Profile, words []string) error {
		i := slices.Index([]string{"stop", "finish"}, strings.Join(words, " "))
		if i < 0 {
			return errors.New("must be stop or finish")
		}
		p.Finishes = i == 1
		return nil
	},
}

// DefaultService is how long requests take where no profile says it.
const DefaultService = 5 * time.Millisecond

// DefaultProfile returns the profile of a server of which nothing is known.
func DefaultProfile() Profile {
	return Profile{Service: latency.Constant(DefaultService), Queue: -1}
}

// ProfileOf returns the profile of a container of a pod, which has the annotations of its images' profiles. One that is not valid has no
// effect beyond the error.
func ProfileOf(pod *corev1.Pod, container string) (Profile, error) {
	text, ok := (podspec.Annotations{Pod: pod, Container: container}).Get(Annotation)
	if !ok {
		return DefaultProfile(), nil
	}
	p, err := ParseProfile(text)
	if err != nil {
		return DefaultProfile(), fmt.Errorf("the annotation %s is not valid: %w", Annotation, err)
	}
	return p, nil
}

// ParseProfile reads the text of Annotation:
//
//	service p50=20ms p99=300ms
//	workers 16
//	queue 100
//	errors 0.1%
//	warm-up 30s 3
//	sigterm finish
//
// The lines may have any order, and those that are missing have the values of DefaultProfile.
func ParseProfile(text string) (Profile, error) {
	p, seen := DefaultProfile(), map[string]bool{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		set := properties[words[0]]
		switch {
		case set == nil:
			return Profile{}, fmt.Errorf("%q is none of service, workers, queue, errors, warm-up and sigterm", words[0])
		case seen[words[0]]:
			return Profile{}, fmt.Errorf("%s is there twice", words[0])
		}
		seen[words[0]] = true
		if err := set(&p, words[1:]); err != nil {
			return Profile{}, fmt.Errorf("%s: %w", words[0], err)
		}
	}
	if p.Queue >= 0 && p.Workers == 0 {
		return Profile{}, errors.New("queue needs workers: without them, no request waits")
	}
	return p, nil
}

func parseNumber(words []string, least, most int) (int, error) {
	n, err := strconv.Atoi(strings.Join(words, " "))
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", strings.Join(words, " "), least, most)
	}
	return n, nil
}

// ParseShare reads a percentage, such as 0.1%.
func ParseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	return percent / 100, nil
}

func parseWarmUp(p *Profile, words []string) error {
	if len(words) != 2 {
		return errors.New(`must be a time and a factor, such as "30s 3"`)
	}
	d, err := time.ParseDuration(words[0])
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration above 0", words[0])
	}
	factor, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(factor >= 1 && factor <= 1000) {
		return fmt.Errorf("%q is not a factor from 1 to 1000", words[1])
	}
	p.WarmUp, p.WarmFactor = d, factor
	return nil
}
