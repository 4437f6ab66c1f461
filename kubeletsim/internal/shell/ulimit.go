package shell

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// resourceLimit is a limit that ulimit shows, with the value that a container runtime sets.
type resourceLimit struct {
	letter byte
	title  string
	value  string
}

const unlimited = "unlimited"

func resourceLimits() []resourceLimit {
	return []resourceLimit{
		{'c', "core file size (blocks)", unlimited},
		{'d', "data seg size (kb)", unlimited},
		{'e', "scheduling priority", "0"},
		{'f', "file size (blocks)", unlimited},
		{'i', "pending signals", unlimited},
		{'l', "max locked memory (kb)", "8192"},
		{'m', "max memory size (kb)", unlimited},
		{'n', "open files", "1048576"},
		{'q', "POSIX message queues (bytes)", "819200"},
		{'r', "real-time priority", "0"},
		{'s', "stack size (kb)", "8192"},
		{'t', "cpu time (seconds)", unlimited},
		{'u', "max user processes", unlimited},
		{'v', "address space (kb)", unlimited},
		{'x', "file locks", unlimited},
	}
}

// ulimitBuiltin shows limits, or sets one for this shell, where it has no effect.
func ulimitBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	letters, value := "", ""
	for _, arg := range args[1:] {
		switch {
		case len(arg) > 1 && arg[0] == '-':
			letters += strings.NewReplacer("H", "", "S", "").Replace(arg[1:])
		case value == "":
			value = arg
		default:
			s.files[2].print(ctx, "ulimit: too many arguments\n")
			return 1, nil
		}
	}
	if letters == "" {
		letters = "f"
	}
	var shown []resourceLimit
	for _, limit := range resourceLimits() {
		if set, ok := s.limits[limit.letter]; ok {
			limit.value = set
		}
		if strings.IndexByte(letters, limit.letter) >= 0 || letters == "a" {
			shown = append(shown, limit)
		}
	}
	number, err := strconv.ParseUint(value, 10, 64)
	switch {
	case len(shown) == 0:
		s.files[2].print(ctx, "ulimit: -"+letters+": invalid option\n")
		return 2, nil
	case value == "" && len(shown) == 1:
		return 0, s.files[1].write(ctx, shown[0].value+"\n")
	case value == "":
		for _, limit := range shown {
			if err := s.files[1].write(ctx, fmt.Sprintf("%-32s (-%c) %s\n", limit.title, limit.letter, limit.value)); err != nil {
				return 1, err
			}
		}
		return 0, nil
	case value == "hard" || value == "soft":
		return 0, nil
	case value != unlimited && err != nil:
		s.files[2].print(ctx, "ulimit: "+value+": invalid number\n")
		return 1, nil
	case value != unlimited:
		value = strconv.FormatUint(number, 10)
	}
	s.limits = maps.Clone(s.limits)
	if s.limits == nil {
		s.limits = map[byte]string{}
	}
	s.limits[shown[0].letter] = value
	return 0, nil
}
