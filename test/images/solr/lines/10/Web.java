package dev.rollcall.solr;

import jakarta.servlet.DispatcherType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.EnumSet;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.eclipse.jetty.ee10.servlet.DefaultServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.rewrite.handler.RewriteHandler;
import org.eclipse.jetty.rewrite.handler.RewriteRegexRule;
import org.eclipse.jetty.server.Handler;

/** The web application of Solr 10: as that of Solr 9, in a Jetty that has moved. */
final class Web {
  private final CoreContainerProvider cores = new CoreContainerProvider();

  /** Solr only logs that it could not start; the one method that tells is not public. */
  boolean serves() throws ReflectiveOperationException {
    Method get = CoreContainerProvider.class.getDeclaredMethod("getCoreContainer");
    get.setAccessible(true);
    try {
      return get.invoke(cores) != null;
    } catch (InvocationTargetException e) {
      return false;
    }
  }

  Handler handler() throws Exception {
    ServletContextHandler solr = new ServletContextHandler("/solr", ServletContextHandler.NO_SESSIONS);
    solr.addEventListener(cores);
    solr.addFilter(SolrDispatchFilter.class, "/*", EnumSet.of(DispatcherType.REQUEST));
    ServletHolder rest = new ServletHolder("default", new DefaultServlet());
    rest.setInitParameter("dirAllowed", "false");
    solr.addServlet(rest, "/");
    solr.setBaseResourceAsPath(Files.createTempDirectory("solr-web"));

    // The newer interface lives at /api, and inside at /solr/____v2.
    RewriteHandler rewrite = new RewriteHandler(solr);
    rewrite.setOriginalPathAttribute("requestedPath");
    rewrite.addRule(new RewriteRegexRule("/api(.*)", "/solr/____v2$1"));
    return rewrite;
  }
}
