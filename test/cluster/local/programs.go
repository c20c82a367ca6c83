package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/build"
	"github.com/rollcall-dev/rollcall/test/cluster/node"
)

// programs builds what is not built, and puts everything under one folder of the cluster for people to use.
func (c *Cluster) programs(ctx context.Context) error {
	source, err := build.Source()
	if err != nil {
		if c.bin = c.linkedPrograms(); c.bin == nil {
			return err
		}
		c.runner.Programs = c.bin // outside of a checkout a cluster goes on with what it was made of
		return c.packPause()
	}
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return err
	}
	if c.bin, err = (build.Builder{Source: source, Cache: c.Cache, Say: c.Say}).All(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Plan.Path("bin"), 0o755); err != nil {
		return err
	}
	for name, file := range c.bin {
		link := c.Plan.Path("bin", name)
		if to, err := os.Readlink(link); err == nil && to == file {
			continue
		}
		_ = os.Remove(link)
		if err := os.Symlink(file, link); err != nil {
			return err
		}
	}
	c.runner.Programs = c.bin
	return c.packPause()
}

// linkedPrograms finds the programs that an earlier Up put into the cluster's folder; nil when one is missing.
func (c *Cluster) linkedPrograms() map[string]string {
	bin := map[string]string{}
	for _, component := range build.Components() {
		for _, name := range component.Programs {
			file, err := filepath.EvalSymlinks(c.Plan.Path("bin", name))
			if err != nil {
				return nil
			}
			bin[name] = file
		}
	}
	return bin
}

// packPause packs the pause program as an image, once per version of it.
func (c *Cluster) packPause() error {
	c.runner.Pause = c.Plan.Path("images", filepath.Base(filepath.Dir(c.bin["pause"]))+".tar")
	if _, err := os.Stat(c.runner.Pause); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.runner.Pause), 0o755); err != nil {
		return err
	}
	layerFile := c.Plan.Path("pause-layer.tar")
	f, err := os.Create(layerFile)
	if err != nil {
		return err
	}
	defer os.Remove(layerFile)
	err = errors.Join(archive.WriteLayer(f, archive.File{Path: "pause", From: c.bin["pause"], Mode: 0o755}), f.Close())
	if err != nil {
		return err
	}
	layer, err := archive.OpenLayer(layerFile)
	if err != nil {
		return err
	}
	return writeArchive(c.runner.Pause, archive.Image{
		Name: node.PauseImage, Layers: []archive.Layer{layer}, Config: archive.Config{Entrypoint: []string{"/pause"}},
	})
}

func writeArchive(file string, images ...archive.Image) error {
	next := file + ".next"
	f, err := os.Create(next)
	if err != nil {
		return err
	}
	if err := errors.Join(archive.Write(f, images...), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, file)
}
