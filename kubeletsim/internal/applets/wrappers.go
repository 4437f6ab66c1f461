package applets

import (
	"path"
	"strings"
)

// Wrapped returns the command that a program which runs its arguments runs, such as tini or gosu; nil if the
// program is none of these, or has no such arguments. They are common in images, and not among Names.
func Wrapped(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	name, rest := path.Base(args[0]), args[1:]
	switch name {
	case "tini", "tini-static", "dumb-init", "catatonit", "docker-init", "pid1":
		return withoutFlags(rest, "peWrv")
	case "gosu", "su-exec", "s6-setuidgid", "envdir":
		return nonEmpty(rest[1:])
	case "chpst":
		return withoutFlags(rest, "uUbe/nmdoptrc")
	case "sudo", "doas":
		return withoutFlags(rest, "ugpCh")
	case "runuser":
		if rest[0] == "-u" && len(rest) > 2 {
			return withoutFlags(rest[2:], "")
		}
		return switchUser(rest)
	case "su":
		return switchUser(rest)
	case "stdbuf", "unbuffer":
		return withoutFlags(rest, "")
	case "ionice", "chrt", "taskset", "setpriv":
		return afterOptions(name, rest)
	}
	return nil
}

func nonEmpty(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return words
}

// withoutFlags returns the words after flags, which -- ends. takes lists the flags that have a value.
func withoutFlags(words []string, takes string) []string {
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' {
		flag := words[0]
		words = words[1:]
		if flag == "--" {
			break
		}
		if len(flag) == 2 && strings.IndexByte(takes, flag[1]) >= 0 && len(words) > 0 {
			words = words[1:]
		}
	}
	return nonEmpty(words)
}

// afterOptions is withoutFlags for programs of util-linux.
func afterOptions(name string, words []string) []string {
	switch name {
	case "ionice":
		return withoutFlags(words, "cnpPu")
	case "chrt", "taskset": // a number or a mask precedes the command
		if words = withoutFlags(words, "TPD"); len(words) > 1 {
			return words[1:]
		}
		return nil
	}
	return withoutFlags(words, "")
}

// switchUser returns what su runs: the command of -c, or a shell with the arguments after the user.
func switchUser(words []string) []string {
	shell, command, rest := "sh", "", []string{}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case (word == "-c" || word == "--command" || word == "-s" || word == "--shell" || word == "-g" || word == "-G") && len(words) > 0:
			if word == "-c" || word == "--command" {
				command = words[0]
			} else if strings.HasSuffix(word, "s") || strings.HasSuffix(word, "shell") {
				shell = words[0]
			}
			words = words[1:]
		case len(word) > 0 && word[0] == '-':
		default:
			rest = append(rest, word)
		}
	}
	inner := []string{shell}
	if command != "" {
		inner = append(inner, "-c", command, shell)
	}
	if len(rest) > 1 {
		inner = append(inner, rest[1:]...)
	}
	if len(inner) == 1 {
		return nil
	}
	return inner
}
