package main

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sentonce/store/seal"
)

//go:embed sentonce.toml
var exampleConfig []byte

type initCmd struct {
	Dir string `default:"." placeholder:"FOLDER" help:"Folder to write to."`
}

// Run writes the two files that an installation starts from. It replaces neither: a lost key is lost data.
func (c initCmd) Run(on console) error {
	settings, key := filepath.Join(c.Dir, "sentonce.toml"), filepath.Join(c.Dir, "master.key")
	for _, path := range []string{settings, key} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there already; init replaces nothing", path)
		}
	}
	if err := writeNew(settings, exampleConfig); err != nil {
		return err
	}
	if err := seal.WriteKeyFile(key, rand.Reader); err != nil {
		return errors.Join(err, os.Remove(settings))
	}
	return on.say("wrote %s: read it, and change the lines marked with <<<\nwrote %s: keep a copy apart from the database\n"+
		"next: set PROVIDER_TOKEN to the provider's token, then sentonce migrate, client add, apikey add, doctor, serve", settings, key)
}

// writeNew makes a file that must not exist.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
