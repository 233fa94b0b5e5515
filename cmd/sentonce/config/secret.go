package config

import (
	"fmt"
	"os"
	"strings"

	"sentonce/dispatch"
)

// openMode is the permission bits that a file with a secret must not have.
const openMode = 0o077

// Token reads the provider's credential from where the configuration says it is. No error repeats any of it.
func (p Provider) Token(env Env) (dispatch.Secret, error) {
	if p.AuthTokenEnv != "" {
		value, _ := env(p.AuthTokenEnv)
		if value == "" {
			return dispatch.Secret{}, fmt.Errorf("provider %q: the environment variable %s is empty: set it to the auth token", p.Name, p.AuthTokenEnv)
		}
		return dispatch.NewSecret(value), nil
	}
	value, err := readSecret(p.AuthTokenFile)
	if err != nil {
		return dispatch.Secret{}, fmt.Errorf("provider %q: auth_token_file: %w", p.Name, err)
	}
	return value, nil
}

func readSecret(path string) (dispatch.Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return dispatch.Secret{}, err
	}
	if info.Mode().Perm()&openMode != 0 {
		return dispatch.Secret{}, fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return dispatch.Secret{}, err
	}
	value := strings.TrimRight(string(raw), "\r\n")
	if value == "" {
		return dispatch.Secret{}, fmt.Errorf("%s is empty", path)
	}
	return dispatch.NewSecret(value), nil
}
