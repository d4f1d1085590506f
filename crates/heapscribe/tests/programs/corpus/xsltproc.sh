{ echo '<items>'; i=0; while [ $i -lt 1500 ]; do echo "<item id='$i'><name>n$((i * 7 % 101))</name></item>"; i=$((i + 1)); done; echo '</items>'; } > items.xml
cat > style.xsl <<'END'
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="k" match="item" use="name"/>
<xsl:template match="/"><out><xsl:for-each select="//item[count(. | key('k', name)[1]) = 1]">
<xsl:sort select="name"/><g n="{name}"><xsl:for-each select="key('k', name)"><i><xsl:value-of select="@id"/></i></xsl:for-each></g>
</xsl:for-each></out></xsl:template>
</xsl:stylesheet>
END
xsltproc style.xsl items.xml
